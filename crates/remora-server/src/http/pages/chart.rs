//! Bar charts over days, drawn as SVG. The same numbers are beside them in a table.
//!
//! The picture has only bars and lines, and stretches with the page. Labels are HTML around it, so that they
//! keep their size on a small screen.

use askama::Template;

/// Width of a day and height of the picture, in SVG units.
const STEP: f64 = 10.0;
const HEIGHT: f64 = 100.0;
/// Share of a day's width that its bar takes.
const FILLED: f64 = 0.7;

#[derive(Template)]
#[template(path = "chart.html")]
pub(super) struct Chart {
    /// Text alternative for screen readers.
    pub(super) says: String,
    pub(super) legend: Vec<(&'static str, &'static str)>,
    pub(super) width: f64,
    pub(super) bars: Vec<Bar>,
    /// The values at the top and in the middle of the scale.
    pub(super) top: String,
    pub(super) middle: String,
    /// Labels for some of the days, spread over the width.
    pub(super) days: Vec<String>,
}

/// The bar of one day.
pub(super) struct Bar {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) says: String,
    pub(super) parts: Vec<ChartPart>,
}

pub(super) struct ChartPart {
    pub(super) class: &'static str,
    pub(super) y: f64,
    pub(super) height: f64,
}

/// The values of one day, in the order of the legend, and its description.
pub(super) struct Column {
    pub(super) day: String,
    pub(super) says: String,
    pub(super) values: Vec<f64>,
}

impl Chart {
    /// `legend` has a class and a name for each value of a column, the lowest first. `label` formats a value
    /// for the scale.
    pub(super) fn new(
        says: String,
        legend: Vec<(&'static str, &'static str)>,
        columns: &[Column],
        label: impl Fn(f64) -> String,
    ) -> Self {
        let highest = columns.iter().map(|column| column.values.iter().sum()).fold(0.0, f64::max);
        let top = round_up(highest);
        let mut bars = Vec::new();
        let mut x = 0.0;
        for column in columns {
            let mut y = HEIGHT;
            let parts = column.values.iter().zip(&legend).filter(|(value, _)| **value > 0.0);
            let parts = parts.map(|(value, (class, _))| {
                let height = value / top * HEIGHT;
                y -= height;
                ChartPart { class, y: tidy(y), height: tidy(height) }
            });
            let parts = parts.collect();
            let inset = STEP * (1.0 - FILLED) / 2.0;
            bars.push(Bar { x: tidy(x + inset), width: STEP * FILLED, says: column.says.clone(), parts });
            x += STEP;
        }
        let last = columns.len().saturating_sub(1);
        let mut named = vec![0, last / 2, last];
        named.dedup();
        Self {
            says,
            legend,
            width: x.max(STEP),
            bars,
            top: label(top),
            middle: label(top / 2.0),
            days: named
                .iter()
                .filter_map(|place| columns.get(*place))
                .map(|column| column.day.clone())
                .collect(),
        }
    }
}

/// Rounds up to a number that reads well on a scale: 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= value).unwrap_or(value)
}

fn tidy(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// A number for a scale: `1.2k`, `3M`.
pub(super) fn short(number: f64) -> String {
    let (value, unit) = match number {
        1e9.. => (number / 1e9, "G"),
        1e6.. => (number / 1e6, "M"),
        1e3.. => (number / 1e3, "k"),
        _ => (number, ""),
    };
    format!("{}{unit}", (value * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_on_each_other_and_stay_in_the_picture() {
        let column =
            |values: &[f64]| Column { day: String::new(), says: String::new(), values: values.to_vec() };
        let columns = [column(&[300.0, 90.0]), column(&[0.0, 0.0]), column(&[10.0, 0.0])];
        let chart = Chart::new(String::new(), vec![("a", "A"), ("b", "B")], &columns, short);
        assert_eq!((chart.top.as_str(), chart.middle.as_str()), ("500", "250"));
        let first = &chart.bars[0].parts;
        assert_eq!((first[0].y, first[0].height), (40.0, 60.0));
        assert_eq!((first[1].y, first[1].height), (22.0, 18.0));
        assert!(chart.bars[1].parts.is_empty());
        assert_eq!(chart.days.len(), 3);
        let empty = Chart::new(String::new(), Vec::new(), &[], short);
        assert!(empty.width > 0.0);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0.0, 50.0, 1_500.0, 2e6].map(short), ["0", "50", "1.5k", "2M"]);
    }
}
