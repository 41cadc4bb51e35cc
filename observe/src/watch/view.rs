//! The live table: the present state of the connections. The writer keeps the newest sample for it, and it is drawn a
//! few times a second, however often the kernel is asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use ratatui::{DefaultTerminal, Frame};

use super::sink::Sink;
use super::table_row::{COLUMNS, Order, TableRow};
use netwarp_records::sockets::Entry;

/// Interval of drawing the table.
const REFRESH: Duration = Duration::from_millis(250);

const SPACING: usize = 2;

/// State that the writer leaves for the viewer.
#[derive(Default)]
struct Now {
    rows: Vec<TableRow>,
    time_ns: i64,
    samples: u64,
}

type Shared = Arc<Mutex<Now>>;

/// Keeps the newest sample, if the last one kept is old enough to be replaced.
struct Keeper {
    shared: Shared,
    coming: Vec<TableRow>,
    kept: Option<Instant>,
}

impl Keeper {
    fn due(&self) -> bool {
        self.kept.is_none_or(|t| t.elapsed() >= REFRESH)
    }
}

impl Sink for Keeper {
    fn rows(&mut self, entries: &[Entry]) -> Result<()> {
        if self.due() || !self.coming.is_empty() {
            self.coming.extend(entries.iter().map(TableRow::of));
        }
        Ok(())
    }

    fn sample_ends(&mut self, time_ns: i64, caught_up: bool) -> Result<()> {
        if caught_up {
            return Ok(());
        }
        let mut now = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        now.samples += 1;
        if self.due() {
            let mut coming = std::mem::take(&mut self.coming);
            let since = (time_ns - now.time_ns) as f64 / 1e9;
            super::table_row::add_rates(&mut coming, &now.rows, since);
            now.rows = coming;
            now.time_ns = time_ns;
            self.kept = Some(Instant::now());
        }
        self.coming.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The viewer: draws and takes keys until `q`, Ctrl-C, or the end of the watch.
pub struct View {
    shared: Shared,
    /// Filter, namespace, interval, and recorded file.
    title: String,
    with_processes: bool,
}

/// Settings that keys change.
struct Looks {
    order: Order,
    table: TableState,
}

impl View {
    pub fn new(title: String, with_processes: bool) -> Self {
        Self {
            shared: Shared::default(),
            title,
            with_processes,
        }
    }

    /// The sink for the writer's rows; the view ends when it is dropped.
    pub fn keeper(&self) -> Box<dyn Sink> {
        Box::new(Keeper {
            shared: Arc::clone(&self.shared),
            coming: Vec::new(),
            kept: None,
        })
    }

    pub fn run(&self) -> Result<()> {
        let mut terminal = ratatui::try_init()?;
        let result = self.draw_until_left(&mut terminal);
        ratatui::try_restore()?;
        result
    }

    fn draw_until_left(&self, terminal: &mut DefaultTerminal) -> Result<()> {
        let mut looks = Looks {
            order: Order::default(),
            table: TableState::default().with_selected(0),
        };
        loop {
            if Arc::strong_count(&self.shared) == 1 {
                return Ok(());
            }
            let (rows, head) = self.rows(&looks.order);
            terminal.draw(|frame| self.draw(frame, &rows, &head, &mut looks))?;
            if event::poll(REFRESH)?
                && let Event::Key(key) = event::read()?
                && leave(key, &mut looks, rows.len())
            {
                return Ok(());
            }
        }
    }

    fn rows(&self, order: &Order) -> (Vec<TableRow>, String) {
        let now = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = now.rows.clone();
        order.sort(&mut rows);
        let seconds = now.time_ns as f64 / 1e9;
        let head = format!(
            "{} connections   {seconds:.1} s   {} samples   {}",
            rows.len(),
            now.samples,
            self.title
        );
        (rows, head)
    }

    /// The columns that fit, from the left: a truncated number would be a wrong number.
    fn columns(&self, rows: &[TableRow], room: usize) -> Vec<usize> {
        let mut used = 0;
        (0..COLUMNS.len())
            .filter(|&at| self.with_processes || COLUMNS[at].name != "process")
            .take_while(|&at| {
                used += width(at, rows) + SPACING;
                used <= room + SPACING
            })
            .collect()
    }

    fn draw(&self, frame: &mut Frame, rows: &[TableRow], head: &str, looks: &mut Looks) {
        let [top, middle, bottom] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(2),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Paragraph::new(Line::styled(head.to_string(), bold)), top);
        let columns = self.columns(rows, usize::from(middle.width));
        let header = columns.iter().map(|&at| {
            let mark = match (looks.order.column == at, looks.order.descending) {
                (false, _) => "",
                (true, true) => "▼",
                (true, false) => "▲",
            };
            aligned(at, format!("{}{mark}", COLUMNS[at].name))
        });
        let lines = rows
            .iter()
            .map(|row| Row::new(columns.iter().map(|&at| aligned(at, row.text(at)))));
        let widths = columns
            .iter()
            .map(|&at| Constraint::Length(width(at, rows) as u16));
        let table = Table::new(lines, widths)
            .header(Row::new(header).style(bold))
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
            .column_spacing(SPACING as u16);
        if rows.is_empty() {
            frame.render_widget(
                Paragraph::new("no socket matches yet: waiting for one"),
                middle,
            );
        } else {
            frame.render_stateful_widget(table, middle, &mut looks.table);
        }
        let keys = "q quit   ← → sort by another column   r reverse   ↑ ↓ PgUp PgDn scroll";
        frame.render_widget(
            Paragraph::new(keys).style(Style::new().add_modifier(Modifier::DIM)),
            bottom,
        );
    }
}

/// The width of the widest text, so that an IPv6 address is shown whole.
fn width(column: usize, rows: &[TableRow]) -> usize {
    let texts = rows.iter().map(|row| row.text(column).chars().count());
    let head = COLUMNS[column].name.len() + 1;
    texts.chain([head]).max().unwrap_or_default()
}

fn aligned(column: usize, text: String) -> Cell<'static> {
    let line = Line::from(text);
    Cell::from(if COLUMNS[column].number {
        line.right_aligned()
    } else {
        line
    })
}

/// Handles a key; returns whether it means to leave.
fn leave(key: KeyEvent, looks: &mut Looks, rows: usize) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return true,
        KeyCode::Char('c') if control => return true,
        KeyCode::Left => looks.order.shift(COLUMNS.len() - 1),
        KeyCode::Right => looks.order.shift(1),
        KeyCode::Char('r') => looks.order.descending = !looks.order.descending,
        KeyCode::Up => looks.table.select_previous(),
        KeyCode::Down => looks.table.select(down(looks, 1, rows)),
        KeyCode::PageUp => looks.table.scroll_up_by(20),
        KeyCode::PageDown => looks.table.select(down(looks, 20, rows)),
        KeyCode::Home => looks.table.select_first(),
        KeyCode::End => looks.table.select(rows.checked_sub(1)),
        _ => {}
    }
    false
}

fn down(looks: &Looks, by: usize, rows: usize) -> Option<usize> {
    let at = looks.table.selected().unwrap_or_default() + by;
    Some(at.min(rows.saturating_sub(1)))
}
