//! The requested table, filled from captures.

use anyhow::Result;
use netwarp_capture::file::Frame;
use netwarp_capture::{Analysis, Interval, Observation, Place, Series};

use super::flows::Flows;
use super::options::Options;
use super::output::{Output, Sink};
use super::source::{End, Source};
use super::{packets, series};

/// Subject of the rows.
enum Rows {
    Flows(Flows),
    Packets,
    /// Intervals of this many nanoseconds
    Series(u64),
}

/// A table that is being written.
pub struct Table {
    rows: Rows,
    output: Output,
}

impl Table {
    /// Begins the table that the options request.
    pub fn new(options: &Options, out: Sink) -> Result<Self> {
        let (rows, columns) = if options.packets {
            (Rows::Packets, packets::columns())
        } else if let Some(interval_ns) = options.series {
            (Rows::Series(interval_ns), series::columns())
        } else {
            let flows = Flows::new(options.format(), options.files.len());
            let columns = flows.columns();
            (Rows::Flows(flows), columns)
        };
        let output = Output::new(options.format(), out, &columns)?;
        Ok(Self { rows, output })
    }

    /// Reads a capture and writes its rows.
    pub fn take(&mut self, file: &str, source: &mut Source) -> Result<(Analysis, End)> {
        let mut analysis = Analysis::default();
        let end = match &self.rows {
            Rows::Flows(flows) => {
                let end = source.each(|frame| {
                    analysis.frame(frame);
                    Ok(())
                })?;
                flows.write(&mut self.output, file, &analysis)?;
                end
            }
            Rows::Packets => source.each(|frame| {
                let seen = analysis.frame(frame);
                seen.map_or(Ok(()), |seen| self.packet(file, &analysis, frame, &seen))
            })?,
            Rows::Series(interval_ns) => {
                let interval_ns = *interval_ns;
                let mut series = Series::new(interval_ns);
                let end = source.each(|frame| {
                    let Some(seen) = analysis.frame(frame) else {
                        return Ok(());
                    };
                    series.push(frame.time_ns, frame.wire_bytes, &seen, |place, interval| {
                        self.interval(file, &analysis, place, interval, interval_ns)
                    })
                })?;
                series.finish(|place, interval| {
                    self.interval(file, &analysis, place, interval, interval_ns)
                })?;
                end
            }
        };
        Ok((analysis, end))
    }

    /// Ends the table.
    pub fn finish(self) -> Result<()> {
        self.output.finish()
    }

    fn packet(
        &mut self,
        file: &str,
        analysis: &Analysis,
        frame: &Frame<'_>,
        seen: &Observation,
    ) -> Result<()> {
        let Some(flow) = analysis.flows().get(seen.place.flow as usize) else {
            return Ok(());
        };
        let row = packets::Row {
            file,
            number: analysis.stats().frames,
            frame,
            flow,
            seen,
        };
        self.output.row(row.cells())
    }

    fn interval(
        &mut self,
        file: &str,
        analysis: &Analysis,
        place: Place,
        interval: &Interval,
        interval_ns: u64,
    ) -> Result<()> {
        let Some(flow) = analysis.flows().get(place.flow as usize) else {
            return Ok(());
        };
        let row = series::Row {
            file,
            flow,
            place,
            interval,
            interval_s: interval_ns as f64 / 1e9,
        };
        self.output.row(row.cells())
    }
}
