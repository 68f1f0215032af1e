//! Plans that are wrong, each in one way: [`verify`] says so.

use super::regions::{inst, meeting, plan};
use crate::diag::Source;
use crate::ir::control::Terminator;
use crate::ir::{Block, Guard, Kind, Reg};
use crate::spmd::regions::{Regions, Stop};
use crate::spmd::verify::verify;
use crate::spmd::{FrameSlot, FunctionPlan, Name};

/// Waits at a barrier (point 0), in a loop (point 1), and goes round one that waits for nobody.
const WAITS: &str = "
    ld.param.u64 %where, [out];
    mov.u32 %own, %tid.x;
    add.u32 %next, %own, 1;
    ld.global.u32 %loaded, [%where];
    ld.global.u64 %wide, [%where+8];
    bar.sync 0;
spin:
    ld.volatile.global.u32 %seen, [%where+16];
    setp.eq.u32 %p, %seen, %loaded;
    @%p bra spin;
count:
    sub.u32 %seen, %seen, 1;
    setp.ne.u32 %p, %seen, 0;
    @%p bra count;
    add.u32 %loaded, %loaded, %own;
    add.u32 %loaded, %loaded, %next;
    st.global.u32 [%where], %loaded;
    st.global.u64 [%where+8], %wide;
    ret;";

/// Waits at a barrier, behind which `%next` is read.
fn reads_next(before: &str) -> String {
    format!(
        "ld.param.u64 %where, [out]; ld.global.u32 %loaded, [%where]; setp.ne.u32 %p, %loaded, 0; mov.u32 %own, %tid.x;
         {before} bar.sync 0; st.global.u32 [%where], %next; ret;"
    )
}

/// The plan of a kernel with this body.
fn planned(body: &str) -> FunctionPlan {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry f(.param .u64 out) {{
         .reg .pred %p; .reg .b32 %own, %next, %loaded, %seen; .reg .b64 %where, %wide; {body} }}"
    );
    let module = crate::check::parse_and_check(Source::new("test.ptx", text));
    let module = module.unwrap_or_else(|e| panic!("{e}"));
    let plan = plan(&module).expect("a small kernel");
    assert_eq!(verify(&plan), Ok(()));
    plan
}

fn regions(plan: &mut FunctionPlan) -> &mut Regions {
    plan.regions.as_mut().expect("it waits")
}

fn named(plan: &FunctionPlan, name: &str) -> Name {
    let regs = &plan.regions.as_ref().expect("it waits").function.regs;
    let index = regs.iter().position(|r| &*r.name == name);
    Name(index.expect("a register") as u32)
}

/// Where a name is among those that are kept at a point.
fn kept(plan: &FunctionPlan, point: usize, name: &str) -> usize {
    let name = named(plan, name);
    let mut framed = plan.crossings[point].framed.iter();
    framed.position(|n| *n == name).expect("it is kept")
}

fn slot<'p>(plan: &'p mut FunctionPlan, point: usize, name: &str) -> &'p mut FrameSlot {
    let at = kept(plan, point, name);
    &mut plan.crossings[point].slots[at]
}

/// Lets a name be found again at a point instead of being kept.
fn find_again(plan: &mut FunctionPlan, point: usize, name: &str) {
    let at = kept(plan, point, name);
    let crossing = &mut plan.crossings[point];
    let name = crossing.framed.remove(at);
    crossing.slots.remove(at);
    crossing.rebuilt.push(name);
}

fn at(plan: &mut FunctionPlan, block: Block) -> &mut crate::ir::BasicBlock {
    &mut regions(plan).function.blocks[block.index()]
}

/// The block that a point stands in, and that where threads go on.
fn point(plan: &mut FunctionPlan, point: usize) -> (Block, Block) {
    let point = regions(plan).points[point];
    let (Stop::Meets { block, .. } | Stop::Yields(block)) = point.stop;
    (block, point.resume)
}

/// The block with a label.
fn labelled(plan: &mut FunctionPlan, label: &str) -> Block {
    let blocks = &regions(plan).function.blocks;
    let index = blocks
        .iter()
        .position(|b| b.label.as_deref() == Some(label));
    Block(index.expect("a label") as u32)
}

/// Breaks the plan of a kernel; `words` are in what is said about it.
fn refused(body: &str, words: &str, breaks: impl Fn(&mut FunctionPlan)) {
    let mut plan = planned(body);
    breaks(&mut plan);
    let said = verify(&plan).expect_err(words);
    assert!(said.contains(words), "{words}: {said}");
}

#[test]
fn what_is_kept_or_found_again_is_what_lives_across_a_point() {
    let plan = planned(WAITS);
    assert_eq!(regions(&mut planned(WAITS)).points.len(), 2);
    for crossing in &plan.crossings {
        let names = |list: &[&str]| -> Vec<Name> {
            let mut names: Vec<Name> = list.iter().map(|n| named(&plan, n)).collect();
            names.sort();
            names
        };
        assert_eq!(crossing.framed, names(&["%loaded", "%wide"]));
        assert_eq!(crossing.rebuilt, names(&["%own", "%next", "%where"]));
    }
}

#[test]
fn values_that_are_lost() {
    for (point, lost) in [(0, "%loaded"), (0, "%wide"), (1, "%loaded"), (1, "%wide")] {
        refused(WAITS, &format!("is lost at point {point}"), |plan| {
            let at = kept(plan, point, lost);
            plan.crossings[point].framed.remove(at);
            plan.crossings[point].slots.remove(at);
        });
    }
    for point in 0..2 {
        refused(WAITS, &format!("is lost at point {point}"), |plan| {
            plan.crossings[point].rebuilt.pop();
        });
    }
}

#[test]
fn values_that_cannot_be_found_again() {
    refused(WAITS, "has 3 definitions", |plan| {
        find_again(plan, 0, "%loaded")
    });
    let of_loaded = reads_next("add.u32 %next, %loaded, 1;");
    refused(&of_loaded, "not found again", |plan| {
        find_again(plan, 0, "%next")
    });
    let clock = reads_next("mov.u32 %next, %clock;");
    refused(&clock, "not found again", |plan| {
        find_again(plan, 0, "%next")
    });
    let twice = reads_next("mov.u32 %next, 1; @%p bra skip; mov.u32 %next, 2; skip:");
    refused(&twice, "has 2 definitions", |plan| {
        find_again(plan, 0, "%next")
    });
    let guarded = reads_next("@%p mov.u32 %next, 1;");
    refused(&guarded, "has 1 definitions", |plan| {
        find_again(plan, 0, "%next")
    });
    let never = reads_next("");
    refused(&never, "has 0 definitions", |plan| {
        find_again(plan, 0, "%next")
    });
}

#[test]
fn values_that_may_not_be_defined_yet() {
    let on_one_way = reads_next("@%p bra skip; mov.u32 %next, %own; skip:");
    refused(&on_one_way, "may not be defined", |plan| {
        find_again(plan, 0, "%next")
    });
    let of_itself = reads_next("add.u32 %next, %next, 1;");
    refused(&of_itself, "may not be defined", |plan| {
        find_again(plan, 0, "%next")
    });
    let of_a_later_one = reads_next("add.u32 %next, %seen, 1; mov.u32 %seen, %own;");
    refused(&of_a_later_one, "may not be defined", |plan| {
        find_again(plan, 0, "%next")
    });
    let of_one_way =
        reads_next("@%p bra skip; mov.u32 %seen, %own; skip: add.u32 %next, %seen, 1;");
    refused(&of_one_way, "may not be defined", |plan| {
        find_again(plan, 0, "%next")
    });
    // It is defined behind the point before it is there again.
    let behind = "ld.param.u64 %where, [out];
        again: st.global.u32 [%where], %next; bar.sync 0; st.global.u32 [%where], %next; mov.u32 %next, %tid.x; bra again;";
    refused(behind, "may not be defined", |plan| {
        find_again(plan, 0, "%next")
    });
    let at_the_head = "ld.param.u64 %where, [out];
        again: st.volatile.global.u32 [%where], %next; mov.u32 %next, %tid.x; ld.volatile.global.u32 %seen, [%where];
        bra again;";
    refused(at_the_head, "may not be defined", |plan| {
        find_again(plan, 0, "%next")
    });
}

#[test]
fn slots_that_are_not_a_values_own() {
    let wrong = |breaks: &dyn Fn(&mut FunctionPlan)| refused(WAITS, "is not its own", breaks);
    wrong(&|plan| slot(plan, 0, "%wide").wide = false);
    wrong(&|plan| slot(plan, 1, "%loaded").offset += 2);
    wrong(&|plan| slot(plan, 1, "%wide").offset += 4);
    // Where the lanes stand, beyond the frame, another lane's, another value's.
    wrong(&|plan| slot(plan, 0, "%loaded").offset = 0);
    wrong(&|plan| slot(plan, 0, "%wide").offset += 8);
    wrong(&|plan| plan.frame_bytes -= 1);
    wrong(&|plan| slot(plan, 1, "%loaded").offset += 4);
    wrong(&|plan| {
        *slot(plan, 0, "%loaded") = FrameSlot {
            wide: false,
            ..*slot(plan, 0, "%wide")
        }
    });
    wrong(&|plan| *slot(plan, 0, "%loaded") = *slot(plan, 0, "%wide"));
    refused(WAITS, "slots are missing", |plan| {
        plan.crossings[1].slots.pop();
    });
}

/// A value that is the only one: nothing else is wrong with its slot.
#[test]
fn slots_that_do_not_fit() {
    let narrow = reads_next("add.u32 %next, %loaded, 1;");
    let wide = "ld.param.u64 %where, [out]; ld.global.u64 %wide, [%where]; bar.sync 0; st.global.u64 [%where], %wide; ret;";
    let wrong = |body: &str, breaks: &dyn Fn(&mut FrameSlot, &mut u32)| {
        refused(body, "is not its own", |plan| {
            let FunctionPlan {
                crossings,
                frame_bytes,
                ..
            } = plan;
            assert_eq!(crossings[0].slots.len(), 1);
            breaks(&mut crossings[0].slots[0], frame_bytes);
        });
    };
    for body in [&*narrow, wide] {
        // There is one byte too few; it is not aligned; it lies where the lanes stand.
        wrong(body, &|_, bytes| *bytes -= 1);
        wrong(body, &|slot, bytes| {
            (slot.offset, *bytes) = (slot.offset + 2, *bytes + 2)
        });
        wrong(body, &|slot, _| slot.offset = 0);
        wrong(body, &|slot, _| slot.offset -= 8);
    }
    wrong(wide, &|slot, bytes| {
        (slot.offset, *bytes) = (slot.offset + 4, *bytes + 4)
    });
    wrong(wide, &|slot, _| slot.wide = false);
}

#[test]
fn meetings_that_do_not_end_their_block() {
    let wrong = |breaks: &dyn Fn(&mut FunctionPlan)| refused(WAITS, "does not end it", breaks);
    wrong(&|plan| {
        let (block, _) = point(plan, 0);
        let reg = Reg(named(plan, "%p").0);
        let last = at(plan, block).insts.last_mut().expect("the barrier");
        last.guard = Some(Guard {
            reg,
            negated: false,
        });
    });
    wrong(&|plan| {
        let (block, _) = point(plan, 0);
        at(plan, block).insts.insert(0, meeting(None));
    });
    wrong(&|plan| {
        let spin = labelled(plan, "spin");
        at(plan, spin).insts.push(meeting(None));
    });
}

#[test]
fn points_behind_which_no_region_begins() {
    let wrong = |breaks: &dyn Fn(&mut FunctionPlan)| refused(WAITS, "no region begins", breaks);
    for other in 0..2 {
        wrong(&|plan| {
            let (block, _) = point(plan, 1 - other);
            regions(plan).points[other].resume = block;
        });
        wrong(&|plan| {
            let (_, resume) = point(plan, 1 - other);
            regions(plan).points[other].resume = resume;
        });
    }
    wrong(&|plan| {
        let (block, _) = point(plan, 0);
        at(plan, block).terminator = Terminator::Exit;
    });
    wrong(&|plan| {
        let (block, _) = point(plan, 0);
        at(plan, block).insts.pop();
    });
    wrong(&|plan| {
        let (_, resume) = point(plan, 1);
        at(plan, resume).terminator = Terminator::Exit;
    });
    wrong(&|plan| {
        let (_, resume) = point(plan, 1);
        at(plan, resume)
            .insts
            .push(inst(Kind::Hint { name: "nanosleep" }));
    });
    wrong(&|plan| regions(plan).points.swap(0, 1));
    wrong(&|plan| {
        let count = labelled(plan, "count");
        regions(plan).points[1].stop = Stop::Yields(count);
    });
    refused(WAITS, "no crossing", |plan| {
        plan.crossings.pop();
    });
}

#[test]
fn regions_that_are_entered_elsewhere() {
    for number in 0..2 {
        refused(WAITS, "leads into the region", |plan| {
            let (_, resume) = point(plan, number);
            let count = labelled(plan, "count");
            at(plan, count).terminator = Terminator::Jump(resume);
        });
    }
}

#[test]
fn loops_that_may_wait_without_a_point() {
    refused(WAITS, "has no point", |plan| {
        let count = labelled(plan, "count");
        at(plan, count)
            .insts
            .push(inst(Kind::Hint { name: "nanosleep" }));
    });
    // Around both, a way that does not come by the head of the inner one.
    refused(WAITS, "has no point", |plan| {
        let (spin, count) = (labelled(plan, "spin"), labelled(plan, "count"));
        let load = at(plan, spin).insts.remove(0);
        at(plan, count).insts.insert(0, load);
    });
}
