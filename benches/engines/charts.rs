//! Charts in SVG.

use crate::stages::STAGES;
use crate::summary::Results;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// Whether a chart could be drawn.
pub type Drawn = Result<(), Box<dyn std::error::Error>>;

const COLOURS: [RGBColor; 6] = [
    RGBColor(0x4c, 0x78, 0xa8),
    RGBColor(0xf5, 0x85, 0x18),
    RGBColor(0x54, 0xa2, 0x4b),
    RGBColor(0xe4, 0x57, 0x56),
    RGBColor(0x72, 0xb7, 0xb2),
    RGBColor(0xb2, 0x79, 0xa2),
];
const WIDTH: u32 = 900;
const LEFT: i32 = 170;
const TOP: i32 = 70;
const BAR: i32 = 12;

/// A bar of the chart: a part of the width from `from` to `to`, 0 to 1.
struct Bar {
    from: f64,
    to: f64,
    colour: usize,
    text: String,
}

/// A row of the chart: a kernel, with bars below each other or in one line.
struct Row {
    name: String,
    lines: Vec<Vec<Bar>>,
}

/// A vertical line under the bars, at a part of the width.
struct Mark {
    /// 0 to 1.
    at: f64,
    /// What stands over it.
    text: String,
}

/// Draws rows of horizontal bars under a title and a legend, over marks. The background is white, whatever is around.
fn draw(path: &Path, title: &str, legend: &[&str], marks: &[Mark], rows: &[Row]) -> Drawn {
    let lines: usize = rows.iter().map(|r| r.lines.len() + 1).sum();
    let height = TOP + BAR * lines as i32 + 20;
    let root = SVGBackend::new(path, (WIDTH, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let font = |size: i32| ("sans-serif", size).into_font().color(&BLACK);
    let right = font(13).pos(Pos::new(HPos::Right, VPos::Center));
    let left = font(13).pos(Pos::new(HPos::Left, VPos::Center));
    root.draw(&Text::new(title.to_string(), (20, 14), font(18)))?;
    for (index, name) in legend.iter().enumerate() {
        let x = 20 + 140 * index as i32;
        let area = [(x, 44), (x + 12, 56)];
        root.draw(&Rectangle::new(area, COLOURS[index].filled()))?;
        root.draw(&Text::new(name.to_string(), (x + 18, 50), left.clone()))?;
    }
    let width = f64::from(WIDTH as i32 - LEFT - 90);
    let x = |part: f64| LEFT + (part.clamp(0.0, 1.0) * width) as i32;
    let centre = font(12).pos(Pos::new(HPos::Center, VPos::Center));
    for mark in marks {
        let ends = [(x(mark.at), TOP - 2), (x(mark.at), height - 16)];
        root.draw(&PathElement::new(ends, RGBColor(0xd0, 0xd0, 0xd0)))?;
        let at = (x(mark.at), TOP - 8);
        root.draw(&Text::new(mark.text.clone(), at, centre.clone()))?;
    }
    let mut y = TOP;
    for row in rows {
        let middle = y + BAR * row.lines.len() as i32 / 2;
        root.draw(&Text::new(
            row.name.clone(),
            (LEFT - 8, middle),
            right.clone(),
        ))?;
        for line in &row.lines {
            for bar in line {
                let area = [(x(bar.from), y + 1), (x(bar.to), y + BAR - 1)];
                root.draw(&Rectangle::new(area, COLOURS[bar.colour].filled()))?;
                let at = (x(bar.to) + 4, y + BAR / 2);
                root.draw(&Text::new(bar.text.clone(), at, left.clone()))?;
            }
            y += BAR;
        }
        y += BAR;
    }
    root.present()?;
    Ok(())
}

/// Time for each thread in native code, with eight together, in C and the interpreter, on a scale where each step is ten times the last.
pub fn engines(path: &Path, results: &Results) -> Drawn {
    const NAMES: [&str; 4] = ["native", "8 together", "c", "interpreter"];
    let mut found = Vec::new();
    for subject in results.subjects("execute") {
        let group = format!("execute/{subject}");
        let times = NAMES.map(|name| results.find(&group, name).map(|m| m.per_unit()));
        found.push((subject, times));
    }
    let all = || found.iter().flat_map(|(_, times)| times).flatten();
    let least = all().fold(f64::MAX, |a, &b| a.min(b)).log10().floor();
    let most = all().fold(f64::MIN, |a, &b| a.max(b)).log10().ceil();
    let rows: Vec<Row> = found
        .iter()
        .map(|(subject, times)| Row {
            name: subject.to_string(),
            lines: (times.iter().enumerate())
                .filter_map(|(colour, time)| time.map(|time| (colour, time)))
                .map(|(colour, time)| {
                    let bar = Bar {
                        from: 0.0,
                        to: (time.log10() - least) / (most - least).max(1.0),
                        colour,
                        text: format!("{} ns", crate::summary::digits(time)),
                    };
                    vec![bar]
                })
                .collect(),
        })
        .collect();
    draw(
        path,
        "Time for each thread (logarithmic)",
        &NAMES,
        &[],
        &rows,
    )
}

/// What each stage takes of the way from text to native code.
pub fn stages(path: &Path, results: &Results) -> Drawn {
    let rows: Vec<Row> = results
        .stages
        .iter()
        .map(|stages| {
            let mut from = 0.0;
            let last = STAGES.len() - 1;
            let bars = (0..STAGES.len())
                .map(|stage| {
                    let to = from + stages.share(stage);
                    let bar = Bar {
                        from,
                        to,
                        colour: stage,
                        text: match stage == last {
                            true => format!("{} ms", crate::summary::digits(1e3 * stages.total())),
                            false => String::new(),
                        },
                    };
                    from = to;
                    bar
                })
                .collect();
            Row {
                name: stages.name.clone(),
                lines: vec![bars],
            }
        })
        .collect();
    draw(
        path,
        "From text to native code, by stage",
        &STAGES,
        &[],
        &rows,
    )
}

/// Ratios of each kernel, one bar each, to the right from 1 if they are greater, to the left if less.
pub fn ratios(path: &Path, title: &str, legend: &[&str], kernels: &[(&str, Vec<f64>)]) -> Drawn {
    let all = || kernels.iter().flat_map(|(_, ratios)| ratios);
    let least = all().fold(1.0, |a: f64, &b| a.min(b)).log10() - 0.05;
    let most = all().fold(1.0, |a: f64, &b| a.max(b)).log10() + 0.05;
    let part = |ratio: f64| (ratio.log10() - least) / (most - least);
    let decades = least.floor() as i32..=most.ceil() as i32;
    let marks: Vec<Mark> = decades
        .flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)))
        .filter(|&ratio| (0.0..=1.0).contains(&part(ratio)))
        .map(|ratio| Mark {
            at: part(ratio),
            // To three digits: a power of ten is not exact.
            text: format!("{}", (ratio * 1e3).round() / 1e3),
        })
        .collect();
    let line = |(colour, &ratio): (usize, &f64)| {
        vec![Bar {
            from: part(ratio.min(1.0)),
            to: part(ratio.max(1.0)),
            colour,
            text: crate::summary::digits(ratio),
        }]
    };
    let rows: Vec<Row> = (kernels.iter())
        .map(|(name, ratios)| Row {
            name: name.to_string(),
            lines: ratios.iter().enumerate().map(line).collect(),
        })
        .collect();
    draw(path, title, legend, &marks, &rows)
}
