//! The control flow graph: predecessors, reverse postorder, dominators, loop headers.

use super::regions::Regions;
use crate::ir::{Block, Function};

/// A node that stands for the start of a thread or call, before the first block.
const NONE: u32 = u32::MAX;

/// The control flow graph of a function. Only reachable blocks take part.
///
/// Beside the blocks there is a root, [`Cfg::root`], with an edge to the first block and to each where threads go on that
/// had stopped, or had been one of a run: what holds when a thread or call begins is defined there, so that the first block may be a loop header
/// like any other. From a block that ends with a meeting no edge leads on.
#[derive(Debug)]
pub struct Cfg {
    /// Reachable blocks in reverse postorder.
    order: Vec<Block>,
    /// Predecessors of each block, without the root, each once.
    preds: Vec<Vec<Block>>,
    /// The immediate dominator of each node; the root's is itself.
    idom: Vec<u32>,
    /// Preorder and postorder numbers in the dominator tree, to tell dominance in constant time.
    interval: Vec<(u32, u32)>,
    /// Children in the dominator tree, of each node.
    children: Vec<Vec<Block>>,
    /// Whether an edge goes back to the block from one that comes later in reverse postorder.
    header: Vec<bool>,
    /// Whether the root leads to the block.
    entry: Vec<bool>,
}

impl Cfg {
    /// Of a function that has at least one block; `regions` are its own, if its threads stop, and `left` the blocks where single
    /// threads take over from runs.
    pub fn new(function: &Function, regions: Option<&Regions>, left: &[Block]) -> Self {
        let count = function.blocks.len();
        let mut entry = vec![false; count];
        entry[0] = true;
        let resumed = regions.iter().flat_map(|r| r.entries());
        for block in resumed.chain(left.iter().copied()) {
            entry[block.index()] = true;
        }
        let successors = |b: Block, f: &mut dyn FnMut(Block)| {
            if regions.is_none_or(|r| r.meets(b).is_none()) {
                function.block(b).terminator.successors(f);
            }
        };
        let (order, parent, preorder) = search(&entry, &successors);
        let mut preds = vec![Vec::new(); count];
        let mut number = vec![NONE; count];
        for (i, &b) in order.iter().enumerate() {
            number[b.index()] = i as u32;
        }
        let mut header = vec![false; count];
        for &b in &order {
            successors(b, &mut |s| {
                if preds[s.index()].last() != Some(&b) {
                    preds[s.index()].push(b);
                }
                if number[s.index()] <= number[b.index()] {
                    header[s.index()] = true;
                }
            });
        }
        for list in &mut preds {
            // A `brx.idx` names a block several times.
            list.sort_unstable();
            list.dedup();
        }
        let idom = dominators(&entry, &preds, &parent, &preorder);
        let mut children = vec![Vec::new(); count + 1];
        for &b in &order {
            children[idom[b.index()] as usize].push(b);
        }
        let interval = number_tree(count, &children);
        Cfg {
            order,
            preds,
            idom,
            interval,
            children,
            header,
            entry,
        }
    }

    /// The node before the first block.
    pub fn root(&self) -> usize {
        self.preds.len()
    }

    /// Reachable blocks in reverse postorder.
    pub fn order(&self) -> &[Block] {
        &self.order
    }

    /// Predecessors of a block, each once; the root is not among them.
    pub fn preds(&self, block: Block) -> &[Block] {
        &self.preds[block.index()]
    }

    /// Whether control may come back to the block by an edge that closes a cycle. Every cycle has such a block.
    pub fn is_header(&self, block: Block) -> bool {
        self.header[block.index()]
    }

    /// Whether there is a cycle.
    pub fn has_loops(&self) -> bool {
        self.header.contains(&true)
    }

    /// The sizes of all loops together, in blocks; no more than `limit` and a loop's size of it is counted.
    pub fn nesting(&self, limit: u64) -> u64 {
        let mut number = vec![0u32; self.preds.len()];
        for (i, b) in (0..).zip(&self.order) {
            number[b.index()] = i;
        }
        let mut member = vec![NONE; self.preds.len()];
        let mut total = 0;
        let mut stack: Vec<Block> = Vec::new();
        for &head in self.order.iter().filter(|&&b| self.is_header(b)) {
            member[head.index()] = head.0;
            total += 1;
            let back = self.preds(head).iter();
            stack.extend(back.filter(|p| number[p.index()] >= number[head.index()]));
            while let Some(b) = stack.pop() {
                if std::mem::replace(&mut member[b.index()], head.0) != head.0 {
                    total += 1;
                    stack.extend(self.preds(b));
                }
            }
            if total > limit {
                break;
            }
        }
        total
    }

    /// Blocks that `node` (a block or the root) dominates immediately.
    pub fn dominated(&self, node: usize) -> &[Block] {
        &self.children[node]
    }

    /// Whether `a` dominates `b` and is not `b`.
    pub fn strictly_dominates(&self, a: Block, b: Block) -> bool {
        let (pre_a, post_a) = self.interval[a.index()];
        let (pre_b, post_b) = self.interval[b.index()];
        pre_a < pre_b && post_b < post_a
    }

    /// For each node the blocks where its dominance ends; `None` if they are more than `limit` together.
    pub fn frontiers(&self, limit: usize) -> Option<Vec<Vec<Block>>> {
        let mut frontiers = vec![Vec::new(); self.preds.len() + 1];
        let mut total = 0;
        for &b in &self.order {
            let root = self.entry[b.index()].then_some(self.root());
            let preds = self.preds(b).iter().map(|p| p.index()).chain(root);
            if self.preds(b).len() + usize::from(root.is_some()) < 2 {
                continue;
            }
            for p in preds {
                let mut runner = p;
                while runner != self.idom[b.index()] as usize {
                    if frontiers[runner].last() == Some(&b) {
                        break;
                    }
                    frontiers[runner].push(b);
                    total += 1;
                    if total > limit {
                        return None;
                    }
                    runner = self.idom[runner] as usize;
                }
            }
        }
        Some(frontiers)
    }
}

/// Calls a function with each block that a block leads to.
type Successors<'a> = &'a dyn Fn(Block, &mut dyn FnMut(Block));

/// Depth-first search: blocks in reverse postorder, the parent of each in the search tree, blocks in preorder.
fn search(entry: &[bool], successors: Successors<'_>) -> (Vec<Block>, Vec<u32>, Vec<Block>) {
    let count = entry.len();
    let mut parent = vec![NONE; count];
    let mut seen = vec![false; count];
    let mut preorder = Vec::new();
    let mut postorder = Vec::new();
    let successors = |b: Block| {
        let mut list = Vec::new();
        successors(b, &mut |s| list.push(s));
        list
    };
    // The first block last, so that it comes first in reverse postorder.
    let entries = (0..count).rev().filter(|&b| entry[b]);
    for start in entries.map(|b| Block(b as u32)) {
        if std::mem::replace(&mut seen[start.index()], true) {
            continue;
        }
        preorder.push(start);
        let mut stack = vec![(start, successors(start))];
        while let Some((block, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if !seen[next.index()] => {
                    seen[next.index()] = true;
                    parent[next.index()] = block.0;
                    preorder.push(next);
                    stack.push((next, successors(next)));
                }
                Some(_) => {}
                None => {
                    postorder.push(*block);
                    stack.pop();
                }
            }
        }
    }
    postorder.reverse();
    (postorder, parent, preorder)
}

/// Immediate dominators by the semi-NCA algorithm. Node `count` is the root.
fn dominators(
    entry: &[bool],
    preds: &[Vec<Block>],
    parent: &[u32],
    preorder: &[Block],
) -> Vec<u32> {
    let count = entry.len();
    // Everything below is in preorder numbers: 0 is the root, block `preorder[i]` is i + 1.
    let nodes = preorder.len() + 1;
    let mut number = vec![0u32; count];
    for (i, b) in preorder.iter().enumerate() {
        number[b.index()] = i as u32 + 1;
    }
    let mut ancestor: Vec<u32> = (0..nodes as u32).collect();
    let mut tree_parent = vec![0u32; nodes];
    for (i, b) in preorder.iter().enumerate() {
        tree_parent[i + 1] = match parent[b.index()] {
            NONE => 0,
            p => number[p as usize],
        };
    }
    let mut semi: Vec<u32> = (0..nodes as u32).collect();
    let mut label: Vec<u32> = (0..nodes as u32).collect();
    let mut path = Vec::new();
    for v in (1..nodes).rev() {
        let block = preorder[v - 1];
        let mut best = tree_parent[v];
        for p in &preds[block.index()] {
            let u = number[p.index()];
            let candidate = if u as usize <= v {
                u
            } else {
                semi[evaluate(u, v as u32, &mut ancestor, &mut label, &semi, &mut path) as usize]
            };
            best = best.min(candidate);
        }
        if entry[block.index()] {
            best = 0;
        }
        semi[v] = best;
        label[v] = v as u32;
        ancestor[v] = tree_parent[v];
    }
    let mut idom = tree_parent;
    for v in 1..nodes {
        let mut d = idom[v];
        while d > semi[v] {
            d = idom[d as usize];
        }
        idom[v] = d;
    }
    let mut result = vec![NONE; count + 1];
    let name = |i: u32| match i {
        0 => count as u32,
        i => preorder[i as usize - 1].0,
    };
    for v in 1..nodes {
        result[preorder[v - 1].index()] = name(idom[v]);
    }
    result[count] = count as u32;
    result
}

/// The node of least semidominator on the path from `v` up to, and without, the nodes numbered at most `last`;
/// compresses the path.
fn evaluate(
    v: u32,
    last: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    semi: &[u32],
    path: &mut Vec<u32>,
) -> u32 {
    path.clear();
    let mut node = v;
    while ancestor[node as usize] > last {
        path.push(node);
        node = ancestor[node as usize];
    }
    while let Some(below) = path.pop() {
        let above = ancestor[below as usize] as usize;
        if semi[label[above] as usize] < semi[label[below as usize] as usize] {
            label[below as usize] = label[above];
        }
        ancestor[below as usize] = ancestor[above];
    }
    label[v as usize]
}

/// Preorder and postorder numbers in the dominator tree.
fn number_tree(count: usize, children: &[Vec<Block>]) -> Vec<(u32, u32)> {
    let mut interval = vec![(NONE, 0); count + 1];
    let mut clock = 0;
    let mut stack = vec![(count, 0)];
    interval[count].0 = 0;
    while let Some((node, next)) = stack.last_mut() {
        clock += 1;
        if let Some(child) = children[*node].get(*next) {
            *next += 1;
            interval[child.index()].0 = clock;
            stack.push((child.index(), 0));
        } else {
            interval[*node].1 = clock;
            stack.pop();
        }
    }
    interval
}
