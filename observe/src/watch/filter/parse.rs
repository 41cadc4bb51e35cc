//! Parses words into a filter. `and` binds closer than `or`, as in ss; words without either between them are an `and`.

use super::expression::{Comparison, Filter, Side};
use super::host::{Host, port};
use super::words::{FilterError, Word, words};

/// Names of states as bits, as in ss: states first, then groups of them.
const STATES: &[(&str, u32)] = &[
    ("established", 1 << 1),
    ("syn-sent", 1 << 2),
    ("syn-recv", SYN_RECV),
    ("fin-wait-1", 1 << 4),
    ("fin-wait-2", 1 << 5),
    ("time-wait", 1 << 6),
    ("closed", 1 << 7),
    ("close-wait", 1 << 8),
    ("last-ack", 1 << 9),
    ("listening", 1 << 10),
    ("closing", 1 << 11),
    ("all", ALL),
    ("connected", ALL & !(1 << 7) & !(1 << 10)),
    ("synchronized", ALL & !(1 << 7) & !(1 << 10) & !(1 << 2)),
    ("bucket", SYN_RECV | (1 << 6)),
    ("big", ALL & !SYN_RECV & !(1 << 6)),
    ("syn-rcv", SYN_RECV),
    ("unconnected", 1 << 7),
    ("close", 1 << 7),
    ("listen", 1 << 10),
];
const ALL: u32 = 0x1ffe;
/// TCP_SYN_RECV and, since Linux 4.4, TCP_NEW_SYN_RECV.
const SYN_RECV: u32 = (1 << 3) | (1 << 12);

const KEYWORDS: &[&str] = &[
    "src", "dst", "sport", "dport", "state", "exclude", "cc", "process", "comm", "pid", "and",
    "or", "not",
];
/// Conditions of ss that do not apply to TCP sockets here.
const ONLY_SS: &[&str] = &["dev", "fwmark", "cgroup", "autobound"];

/// Parses a filter; an empty text selects every socket.
pub fn parse(text: &str) -> Result<Filter, FilterError> {
    let words = words(text)?;
    if words.is_empty() {
        return Ok(Filter::All);
    }
    let mut parser = Parser {
        text,
        words: &words,
        next: 0,
    };
    let filter = parser.any_of()?;
    match parser.peek() {
        None => Ok(filter),
        Some(word) if word.text == ")" => {
            Err(parser.wrong(word, "no `(` belongs to this `)`".into()))
        }
        Some(word) => Err(parser.not_a_condition(word)),
    }
}

struct Parser<'a> {
    text: &'a str,
    words: &'a [Word],
    next: usize,
}

impl<'a> Parser<'a> {
    fn any_of(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.all_of()?;
        while self.take(&["or", "|", "||"]) {
            filter = Filter::Or(Box::new(filter), Box::new(self.all_of()?));
        }
        Ok(filter)
    }

    fn all_of(&mut self) -> Result<Filter, FilterError> {
        let mut filter = self.one()?;
        loop {
            let ends = self
                .peek()
                .is_none_or(|w| ["or", "|", "||", ")"].contains(&w.text.as_str()));
            if !self.take(&["and", "&", "&&"]) && ends {
                return Ok(filter);
            }
            filter = Filter::And(Box::new(filter), Box::new(self.one()?));
        }
    }

    fn one(&mut self) -> Result<Filter, FilterError> {
        let word = self.word("a condition such as `dport = 443`")?;
        match word.text.as_str() {
            "not" | "!" => Ok(Filter::Not(Box::new(self.one()?))),
            "(" => {
                let filter = self.any_of()?;
                match self.peek() {
                    Some(end) if end.text == ")" => self.next += 1,
                    Some(other) => return Err(self.not_a_condition(other)),
                    None => return Err(self.wrong(word, "this `(` is not closed".into())),
                }
                Ok(filter)
            }
            "src" => self.host(Side::Source),
            "dst" => self.host(Side::Destination),
            "sport" => self.port(Side::Source),
            "dport" => self.port(Side::Destination),
            "state" => self.state(),
            "exclude" => Ok(Filter::Not(Box::new(self.state()?))),
            "cc" => self.name(Filter::CongestionControl),
            "process" | "comm" => self.name(Filter::Process),
            "pid" => self.pid(),
            _ => Err(self.not_a_condition(word)),
        }
    }

    fn host(&mut self, side: Side) -> Result<Filter, FilterError> {
        let equal = self.equal()?;
        let word = self.word("an address, such as 10.0.0.1, 10.0.0.0/8:443 or [::1]:443")?;
        let host: Host = word
            .text
            .parse()
            .map_err(|message| self.wrong(word, message))?;
        Ok(negated(!equal, Filter::Host(side, host)))
    }

    fn port(&mut self, side: Side) -> Result<Filter, FilterError> {
        let how = self.comparison().unwrap_or(Comparison::Equal);
        let word = self.word("a port, such as 443, :443 or https")?;
        let text = word.text.strip_prefix(':').unwrap_or(&word.text);
        let port = port(text).map_err(|message| self.wrong(word, message))?;
        Ok(Filter::Port(side, how, port))
    }

    fn state(&mut self) -> Result<Filter, FilterError> {
        let equal = self.equal()?;
        let word = self.word("a state, such as established")?;
        match STATES.iter().find(|(name, _)| *name == word.text) {
            Some((_, bits)) => Ok(negated(!equal, Filter::State(*bits))),
            None => {
                let names: Vec<&str> = STATES.iter().take(16).map(|(name, _)| *name).collect();
                let message = format!(
                    "`{}` is not a state; there are {}",
                    word.text,
                    names.join(", ")
                );
                Err(self.wrong(word, message))
            }
        }
    }

    fn name(&mut self, make: fn(String) -> Filter) -> Result<Filter, FilterError> {
        let equal = self.equal()?;
        let word = self.word("a name")?;
        Ok(negated(!equal, make(word.text.clone())))
    }

    fn pid(&mut self) -> Result<Filter, FilterError> {
        let how = self.comparison().unwrap_or(Comparison::Equal);
        let word = self.word("a process id")?;
        match word.text.parse() {
            Ok(pid) => Ok(Filter::Pid(how, pid)),
            Err(_) => Err(self.wrong(word, format!("`{}` is not a process id", word.text))),
        }
    }

    /// Parses a comparison that can only be for equality; without a sign it means equal.
    fn equal(&mut self) -> Result<bool, FilterError> {
        let at = self.peek();
        match (self.comparison(), at) {
            (None | Some(Comparison::Equal), _) => Ok(true),
            (Some(Comparison::NotEqual), _) => Ok(false),
            (_, Some(word)) => Err(self.wrong(word, "only = or != is possible here".into())),
            (_, None) => Ok(true),
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let how = match self.peek()?.text.as_str() {
            "=" | "==" | "eq" => Comparison::Equal,
            "!=" | "ne" | "neq" => Comparison::NotEqual,
            "<" | "lt" => Comparison::Less,
            "<=" | "le" | "leq" => Comparison::LessOrEqual,
            ">" | "gt" => Comparison::Greater,
            ">=" | "ge" | "geq" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.next += 1;
        Some(how)
    }

    fn peek(&self) -> Option<&'a Word> {
        self.words.get(self.next)
    }

    fn take(&mut self, any: &[&str]) -> bool {
        let found = self.peek().is_some_and(|w| any.contains(&w.text.as_str()));
        self.next += usize::from(found);
        found
    }

    fn word(&mut self, expected: &str) -> Result<&'a Word, FilterError> {
        let word = self.peek().ok_or_else(|| {
            let end = self.text.trim_end().len();
            FilterError::new(
                self.text,
                end..end,
                format!("it ends where {expected} is expected"),
            )
        })?;
        self.next += 1;
        Ok(word)
    }

    fn wrong(&self, word: &Word, message: String) -> FilterError {
        FilterError::new(self.text, word.at.clone(), message)
    }

    fn not_a_condition(&self, word: &Word) -> FilterError {
        let text = &word.text;
        let message = if ONLY_SS.contains(&text.as_str()) {
            format!("ss knows `{text}`, netwarp does not")
        } else if let Some(near) = nearest(text) {
            format!("`{text}` is not a condition; did you mean `{near}`?")
        } else {
            let known = KEYWORDS[..KEYWORDS.len() - 3].join(", ");
            format!(
                "`{text}` is not a condition; there are {known}, joined by and, or, not and parentheses"
            )
        };
        self.wrong(word, message)
    }
}

fn negated(wanted: bool, filter: Filter) -> Filter {
    if wanted {
        Filter::Not(Box::new(filter))
    } else {
        filter
    }
}

fn nearest(text: &str) -> Option<&'static str> {
    let near = |name: &&&str| strsim::damerau_levenshtein(text, name) <= 2 && text.len() > 2;
    KEYWORDS
        .iter()
        .filter(near)
        .min_by_key(|name| strsim::damerau_levenshtein(text, name))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::super::bytecode;
    use super::super::expression::Filter;
    use super::parse;

    #[test]
    fn a_filter_beyond_its_bound_is_refused_in_a_sentence() {
        for text in [
            "(".repeat(50_000),
            "not ".repeat(50_000),
            "! ".repeat(2_000) + "sport = 1",
            vec!["sport = 1"; 20_000].join(" and "),
            vec!["sport = 1"; 20_000].join(" or "),
        ] {
            let message = match parse(&text) {
                Ok(_) => "it was read".to_string(),
                Err(error) => error.to_string(),
            };
            assert!(message.contains("more than 1000 words"), "{message}");
            assert!(message.len() < 200, "it does not repeat the filter");
        }
    }

    #[test]
    fn a_filter_at_its_bound_is_read_on_a_small_stack() {
        let nested = "(".repeat(498) + "sport = 1" + &")".repeat(498);
        let negated = "not ".repeat(997) + "sport = 1";
        let joined = vec!["sport = 1"; 250].join(" and ");
        let work = move || {
            for text in [nested, negated, joined] {
                let filter = parse(&text).unwrap_or(Filter::Process("refused".into()));
                assert!(!filter.asks_for_processes(), "it is read");
                bytecode(&filter);
                drop(filter.clone());
            }
        };
        // The same as in the threads of the monitor.
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
        assert!(thread.is_ok_and(|running| running.join().is_ok()));
    }
}
