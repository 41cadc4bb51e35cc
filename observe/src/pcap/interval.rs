//! Parses lengths of time.

/// Converts a number with a unit to nanoseconds.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("\"{text}\" is not a length of time; expected one such as 100ms, 1s or 1min");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ns = match text.get(digits.len()..).unwrap_or_default() {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.trim_end().parse().map_err(|_| wrong())?;
    let ns = number * unit_ns;
    if (1.0..=1e18).contains(&ns) {
        Ok(ns.round() as u64)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lengths_of_time() {
        assert_eq!(parse("1s"), Ok(1_000_000_000));
        assert_eq!(parse("0.5 s"), Ok(500_000_000));
        assert_eq!(parse("100ms"), Ok(100_000_000));
        assert_eq!(parse("2min"), Ok(120_000_000_000));
        for wrong in [
            "", "1", "s", "0s", "-1s", "nans", "infs", "1h", "1e300s", "ä",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
