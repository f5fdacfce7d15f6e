//! Line plots with logarithmic axes, as SVG.

use std::{ops::Range, path::Path};

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    element::PathElement,
    prelude::{Circle, IntoDrawingArea, IntoLogRange, SVGBackend},
    series::LineSeries,
    style::{Color, RGBColor, ShapeStyle, WHITE},
};

use crate::{client::Outcome, results::number};

const SIZE: (u32, u32) = (860, 460);
/// Colours that colour-blind readers can distinguish (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
];

/// A line of a plot.
pub(crate) struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Series {
    pub(crate) fn new(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.replace('`', ""),
            points,
        }
    }
}

/// A plot of several lines.
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) series: Vec<Series>,
}

impl Plot {
    /// Writes the plot to a file.
    pub(crate) fn draw(&self, file: &Path) -> Outcome {
        let area = SVGBackend::new(file, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let points = || self.series.iter().flat_map(|series| &series.points);
        let sizes = range(points().map(|point| point.0), 1.0);
        let values = range(points().map(|point| point.1), 1.6);
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .caption(&self.title, ("sans-serif", 18))
            .x_label_area_size(32)
            .y_label_area_size(72)
            .build_cartesian_2d(sizes.log_scale(), values.log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(RGBColor(240, 240, 240))
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let style = ShapeStyle::from(colour).stroke_width(2);
            chart
                .draw_series(LineSeries::new(series.points.iter().copied(), style))?
                .label(&series.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            chart.draw_series(
                series
                    .points
                    .iter()
                    .map(|point| Circle::new(*point, 3, colour.filled())),
            )?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.8))
            .label_font(("sans-serif", 12))
            .draw()?;
        Ok(area.present()?)
    }
}

/// Returns the range of the positive values, widened by a factor on both sides.
fn range(values: impl Iterator<Item = f64>, wider: f64) -> Range<f64> {
    let (mut least, mut most) = (f64::INFINITY, f64::MIN_POSITIVE);
    for value in values.filter(|value| *value > 0.0) {
        least = least.min(value);
        most = most.max(value);
    }
    least.min(most) / wider..(most * wider).max(least * 1.01)
}
