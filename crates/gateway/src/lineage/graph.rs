//! A drawing of what a record was made of and what became of it, as SVG.
//!
//! At most some hundred records are drawn, the nearest ones; what is left out is counted in the picture. Every text is
//! escaped and bounded; the picture has no script, no link and no style from elsewhere. A level is told in words and not by
//! colour alone, and an assumed link is dashed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use enclos_core::label::Level;
use enclos_core::lineage::{Confidence, LineageId};
use enclos_core::noun::count;
use enclos_protocol::error::ApiError;
use enclos_protocol::lineage::{Drawing, Item, Link, Start};
use enclos_store::{Direction, MOST_NODES, Reach, Store};
use rust_sugiyama::configure::Config;
use rust_sugiyama::from_vertices_and_edges;

use super::{failed, item, link, nothing, starts};

/// Records of a picture in each direction.
const MOST_DRAWN: usize = 150;
/// Size of a box.
const BOX: (f64, f64) = (232.0, 52.0);
/// Room around the picture, and between its parts.
const MARGIN: f64 = 24.0;
/// Room for the lines at the top.
const HEAD: f64 = 64.0;
/// Characters of a line in a box.
const LONGEST: usize = 32;

/// Draws what is around a record.
///
/// # Errors
/// A record that is not there, and what the store reports.
pub(crate) fn draw(store: &Store, start: &Start, clearance: Level) -> Result<Drawing, ApiError> {
    let start = starts(store, start, Direction::Backward)?.into_iter().next().ok_or_else(nothing)?;
    let mut picture = Picture::default();
    let mut reached = 0_usize;
    for direction in [Direction::Backward, Direction::Forward] {
        let near = Reach { nodes: MOST_DRAWN, in_session: false };
        let trace = store.lineage_trace(&start, direction, near).map_err(|error| failed(&error))?;
        let all = Reach { nodes: MOST_NODES, in_session: false };
        let (found, more) = store.lineage_reach(&start, direction, all).map_err(|error| failed(&error))?;
        reached = reached.saturating_add(found).saturating_sub(usize::from(direction == Direction::Forward));
        picture.more |= more;
        for node in trace.nodes {
            picture.items.insert(node.record.lineage_id.clone(), item(node));
        }
        picture.links.extend(trace.edges.into_iter().map(link));
    }
    let drawn = picture.items.len();
    picture.left_out = reached.saturating_sub(drawn);
    let svg = picture.svg(&start, clearance);
    Ok(Drawing { svg, records: drawn as u64, left_out: picture.left_out as u64 })
}

#[derive(Default)]
struct Picture {
    items: BTreeMap<LineageId, Item>,
    links: Vec<Link>,
    left_out: usize,
    more: bool,
}

/// Where boxes are, and how large all of it is.
struct Placed {
    at: BTreeMap<LineageId, (f64, f64)>,
    width: f64,
    height: f64,
}

impl Picture {
    fn svg(&self, start: &LineageId, clearance: Level) -> String {
        let placed = self.placed();
        let (width, height) = (placed.width.max(520.0) + 2.0 * MARGIN, placed.height + HEAD + 2.0 * MARGIN);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 \
             {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n"
        );
        let title = escaped(&format!("Lineage of {start}"), usize::MAX);
        line(&mut out, &format!("<title>{title}</title>"));
        line(&mut out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
        line(&mut out, &text(MARGIN, 28.0, "#111111", "bold", &title));
        line(&mut out, &text(MARGIN, 48.0, "#444444", "normal", &self.note()));
        for drawn in &self.links {
            if let (Some(from), Some(to)) = (placed.at.get(&drawn.from), placed.at.get(&drawn.to)) {
                line(&mut out, &curve(*from, *to, drawn.confidence));
            }
        }
        for (id, item) in &self.items {
            if let Some(at) = placed.at.get(id) {
                boxed(&mut out, *at, item, id == start, clearance);
            }
        }
        out.push_str("</svg>\n");
        out
    }

    /// What the picture is of, and what is not in it.
    fn note(&self) -> String {
        let drawn = count(self.items.len(), "record", "records");
        let links = "solid: declared, dashed: assumed";
        if self.left_out == 0 && !self.more {
            return format!("{drawn}, all of them; {links}");
        }
        let or_more = if self.more { " or more" } else { "" };
        format!("the {drawn} that are nearest, {}{or_more} left out; {links}", self.left_out)
    }

    /// Layers from top to bottom, the parts that have no link to each other side by side.
    fn placed(&self) -> Placed {
        let numbers: BTreeMap<&LineageId, u32> = self.items.keys().zip(0_u32..).collect();
        let ids: Vec<&LineageId> = self.items.keys().collect();
        let edges: BTreeSet<(u32, u32)> = self
            .links
            .iter()
            .filter_map(|link| Some((*numbers.get(&link.from)?, *numbers.get(&link.to)?)))
            .collect();
        let vertices: Vec<(u32, (f64, f64))> = numbers.values().map(|number| (*number, BOX)).collect();
        let edges: Vec<(u32, u32)> = edges.into_iter().collect();
        let mut placed = Placed { at: BTreeMap::new(), width: 0.0, height: 0.0 };
        let config = Config { vertex_spacing: 36.0, ..Config::default() };
        for (layout, _, _) in from_vertices_and_edges(&vertices, &edges, &config) {
            let least = |of: fn(&(f64, f64)) -> f64| {
                layout.iter().map(|(_, at)| of(at)).fold(f64::INFINITY, f64::min)
            };
            let (left, top) = (least(|at| at.0), least(|at| at.1));
            let shift = if placed.at.is_empty() { 0.0 } else { placed.width + MARGIN };
            for (number, (x, y)) in layout {
                let Some(id) = ids.get(number) else { continue };
                let (x, y) = (x - left + shift, y - top);
                placed.width = placed.width.max(x + BOX.0);
                placed.height = placed.height.max(y + BOX.1);
                placed.at.insert((*id).clone(), (x + MARGIN, y + MARGIN + HEAD));
            }
        }
        placed
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn text(x: f64, y: f64, colour: &str, weight: &str, escaped: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\" font-weight=\"{weight}\">{escaped}</text>")
}

/// From the foot of a box to the head of another.
fn curve(from: (f64, f64), to: (f64, f64), confidence: Confidence) -> String {
    let (x1, y1) = (from.0 + BOX.0 / 2.0, from.1 + BOX.1);
    let (x2, y2) = (to.0 + BOX.0 / 2.0, to.1);
    let middle = f64::midpoint(y1, y2);
    let dash = match confidence {
        Confidence::Declared => "",
        Confidence::Assumed => " stroke-dasharray=\"5 4\"",
    };
    format!(
        "<path d=\"M{x1:.1} {y1:.1} C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}\" fill=\"none\" \
         stroke=\"#888888\"{dash}/>"
    )
}

fn boxed(out: &mut String, (x, y): (f64, f64), item: &Item, is_start: bool, clearance: Level) {
    let class = &item.record.classification;
    let colour = match class.level {
        Level::Public => "#e8f5e9",
        Level::Internal => "#e3f2fd",
        Level::Confidential => "#fff3e0",
        Level::Restricted => "#ffebee",
    };
    let width = if is_start { 3 } else { 1 };
    let (w, h) = BOX;
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w}\" height=\"{h}\" rx=\"6\" fill=\"{colour}\" \
         stroke=\"#333333\" stroke-width=\"{width}\"/>"
    );
    let cleared = class.level.may_flow_to(clearance);
    let name = if cleared { item.record.origin.source_name.as_str() } else { "withheld" };
    let head = format!("{}  {}", item.kind.as_str(), class.level);
    let foot = format!("{} {}", class.provenance, item.record.lineage_id);
    for (row, colour, weight, words) in [
        (16.0, "#111111", "bold", head.as_str()),
        (31.0, "#222222", "normal", name),
        (45.0, "#555555", "normal", foot.as_str()),
    ] {
        line(out, &text(x + 8.0, y + row, colour, weight, &escaped(words, LONGEST)));
    }
}

/// A text as it may stand in the picture: bounded, without characters that act on a reader, and with those that act on XML
/// written out.
fn escaped(words: &str, most: usize) -> String {
    let mut out = String::new();
    for (place, c) in words.chars().enumerate() {
        if place >= most {
            out.push('…');
            break;
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if acts(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Control, bidirectional and invisible characters, and those that XML has no place for.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_a_picture_is_a_text() {
        assert_eq!(escaped("<script>&\"'", 99), "&lt;script&gt;&amp;&quot;&#39;");
        assert_eq!(escaped("a\u{202e}b\u{0}\n", 99), "a\u{fffd}b\u{fffd}\u{fffd}");
        assert_eq!(escaped("abcdef", 3), "abc…");
    }
}
