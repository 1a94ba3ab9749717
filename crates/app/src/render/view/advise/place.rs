//! How much of a program would be huge that does not run yet.

use crate::render::colour::Paint;
use crate::render::text::wrap;
use hugewise_base::units::Bytes;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::room::Forecast;
use serde_json::{Value, json};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// What is shown.
#[derive(Debug)]
pub(crate) struct View {
    /// Memory of the program.
    pub(crate) size: Bytes,
    /// Share of it that is wanted in huge pages, percent.
    pub(crate) guarantee: f64,
    /// Where it would lie: on one node, or anywhere on the machine.
    pub(crate) forecast: Forecast,
    /// On each node, where it may lie on any of several.
    pub(crate) nodes: Vec<Forecast>,
    /// What could not be read.
    pub(crate) missing: Vec<String>,
}

/// As JSON.
pub(crate) fn json(view: &View) -> Value {
    json!({
        "schema": SCHEMA,
        "size_bytes": view.size,
        "guarantee_percent": view.guarantee,
        "forecast": view.forecast,
        "nodes": view.nodes,
        "missing": view.missing,
    })
}

/// As text.
pub(crate) fn text(view: &View, paint: Paint) -> String {
    let Forecast { percent, least_percent, most_percent, at_once_percent, .. } = view.forecast;
    let expected = format!("{percent:.0} %");
    let expected = match percent >= view.guarantee {
        true => paint.good(&expected),
        false => paint.bad(&expected),
    };
    let place = match view.forecast.node {
        Some(node) => format!("on node {node}"),
        None => "here".to_owned(),
    };
    let head = format!(
        "{} more {place}: {expected} of it would be huge ({least_percent:.0} to \
         {most_percent:.0} %), {at_once_percent:.0} % of it in blocks that are free now.",
        view.size
    );
    let mut out = wrap("", &head);
    out += &wrap("  free        ", &free(&view.forecast));
    if let Some(limit) = view.forecast.limit {
        out += &wrap("  limited by  ", &limited(limit));
    }
    for node in &view.nodes {
        let number = node.node.unwrap_or(0);
        let limit = node.limit.map(|limit| format!("; {limit}")).unwrap_or_default();
        let text = format!(
            "{:.0} % ({:.0} to {:.0} %), {}{limit}",
            node.percent,
            node.least_percent,
            node.most_percent,
            free(node)
        );
        out += &wrap(&format!("  on node {number}   "), &text);
    }
    for missing in &view.missing {
        out += &wrap("  not known:  ", missing);
    }
    out + &wrap("", FOOT)
}

/// What the figures presume.
const FOOT: &str = "Once the program has touched all of it, and 'hugewise manage --pid PID \
                    --guarantee 95' has made it huge.";

fn free(forecast: &Forecast) -> String {
    let movable = match forecast.movable {
        Some(movable) => format!("{movable} of them where pages can be moved"),
        None => "of which it is unknown whether the pages beside them can be moved".to_owned(),
    };
    format!("{} blocks, and {} in pieces, {movable}", forecast.free_huge, forecast.pieces)
}

fn limited(limit: SkipReason) -> String {
    let (means, remedy) = limit.text();
    match remedy {
        "" => format!("{limit}: {means}"),
        remedy => format!("{limit}: {means}; {remedy}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(limit: Option<SkipReason>, nodes: Vec<Forecast>) -> View {
        let forecast = Forecast {
            node: None,
            at_once_percent: 40.0,
            percent: 71.4,
            least_percent: 65.0,
            most_percent: 72.5,
            free_huge: 819,
            pieces: Bytes::mib(1800),
            movable: Some(Bytes::mib(1330)),
            limit,
        };
        let (size, guarantee) = (Bytes::mib(4096), 95.0);
        View { size, guarantee, forecast, nodes, missing: Vec::new() }
    }

    #[test]
    fn what_is_expected_is_said_with_its_interval_and_limit() {
        let text = text(
            &view(Some(SkipReason::UnmovableMemory), Vec::new()),
            Paint::new(Some(false), false, false),
        );
        assert!(
            text.starts_with("4.0 GiB more here: 71 % of it would be huge (65 to 72 %), 40 %"),
            "{text}"
        );
        assert!(text.contains("limited by  unmovable_memory: too much of the memory"), "{text}");
    }

    #[test]
    fn each_node_has_its_line_and_what_is_unknown_is_said() {
        let one = Forecast { node: Some(1), movable: None, ..view(None, Vec::new()).forecast };
        let text = text(&view(None, vec![one]), Paint::new(Some(false), false, false));
        assert!(text.contains("on node 1   71 % (65 to 72 %), 819 blocks"), "{text}");
        assert!(text.contains("unknown whether") && !text.contains("limited by"), "{text}");
    }
}
