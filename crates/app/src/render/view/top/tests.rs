use super::state::{Tab, Ui, Wish};
use super::values::{CpuSplit, FindingLine, MapPane, PastAt, Report, Shown};
use super::{Palette, draw};
use crate::render::golden;
use crate::render::view::map;
use crate::render::view::status::tests::with_manager;
use hugewise_base::units::Bytes;
use hugewise_manager::status::TargetStatus;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

fn shown() -> Shown {
    let view = with_manager();
    let groups = view.manager.status().map(|status| status.cgroups.clone()).unwrap_or_default();
    Shown {
        host: "db\u{1b}[31m1".to_owned(),
        time: "12:00:01 UTC".to_owned(),
        cpus: Some(2),
        cpu: Some(CpuSplit {
            user: 41.2,
            system: 35.0,
            interrupts: 1.2,
            iowait: 0.4,
            steal: 0.0,
            idle: 22.2,
        }),
        view,
        groups,
        own: false,
        map: MapPane::ManagerState(Box::new(map::tests::sample())),
        report: Report::Done {
            time: "12:00:00 UTC".to_owned(),
            findings: vec![FindingLine {
                severity: "warning".to_owned(),
                title: "Programs wait\u{7}".to_owned(),
                evidence: vec!["48 compactions a second".to_owned()],
                remedy: Some("set defrag to defer".to_owned()),
            }],
        },
        past: None,
    }
}

/// The screen as text, and the choices with the places that were drawn.
fn screen(shown: &Shown, ui: &mut Ui, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    let mut places = None;
    let palette = Palette { coloured: true };
    terminal.draw(|frame| places = Some(draw(frame, shown, ui, palette))).expect("drawn");
    ui.places = places.expect("drawn");
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn press(ui: &mut Ui, shown: &Shown, codes: &[KeyCode]) -> Wish {
    let mut wish = Wish::None;
    for code in codes {
        wish = ui.key(KeyEvent::new(*code, KeyModifiers::NONE), shown);
    }
    wish
}

fn click(ui: &mut Ui, shown: &Shown, (column, row): (u16, u16)) {
    let kind = MouseEventKind::Down(MouseButton::Left);
    ui.mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }, shown);
}

/// A screen with these programs.
fn with(names: &[(&str, u32, u64)]) -> Shown {
    let mut shown = shown();
    let one = shown.view.processes[0].clone();
    let process = |(name, pid, mib): &(&str, u32, u64)| TargetStatus {
        name: (*name).to_owned(),
        pid: *pid,
        anon: Bytes::mib(*mib),
        ..one.clone()
    };
    shown.view.processes = names.iter().map(process).collect();
    shown
}

fn past() -> PastAt {
    PastAt {
        number: 2160,
        count: 17_280,
        first: "2026-11-26 00:00".to_owned(),
        last: "2026-11-26 23:59".to_owned(),
        playing: false,
        problem: None,
    }
}

#[test]
fn keys_go_back_and_forth_in_a_history_only() {
    let now = shown();
    let then = Shown { past: Some(past()), ..shown() };
    let mut ui = Ui::default();
    for (key, wish) in [
        (KeyCode::Left, Wish::Samples(-1)),
        (KeyCode::Right, Wish::Samples(1)),
        (KeyCode::Char('['), Wish::Seconds(-60)),
        (KeyCode::Char('}'), Wish::Seconds(3600)),
        (KeyCode::Char(' '), Wish::Play),
    ] {
        assert_eq!(press(&mut ui, &then, &[key]), wish);
        assert_eq!(press(&mut ui, &now, &[key]), Wish::None);
    }
    assert!(ui.still, "the space bar stops what goes on");
    let typed = [KeyCode::Char('t'), KeyCode::Char('3'), KeyCode::Char(':'), KeyCode::Enter];
    assert_eq!(press(&mut ui, &then, &typed), Wish::Jump);
    assert_eq!((ui.time.as_str(), ui.typing, ui.filter.as_str()), ("3:", None, ""));
    let dropped = [KeyCode::Char('t'), KeyCode::Char('4'), KeyCode::Esc];
    assert_eq!(press(&mut ui, &then, &dropped), Wish::None);
    assert_eq!((ui.time.as_str(), ui.typing), ("", None));
}

#[test]
fn screens_are_as_kept() {
    for size in [(80, 24), (160, 50)] {
        for tab in Tab::ALL {
            let mut ui = Ui { tab, ..Ui::default() };
            let text = screen(&shown(), &mut ui, size);
            let name = format!("top-{}-{}x{}.txt", tab.title().to_lowercase(), size.0, size.1);
            golden::check(&name, &text);
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
        }
    }
    let mut ui = Ui { help: true, ..Ui::default() };
    golden::check("top-help-80x24.txt", &screen(&shown(), &mut ui, (80, 24)));
    let past = Shown { past: Some(past()), time: "2026-11-26 03:00:05 UTC".into(), ..shown() };
    golden::check("top-history-80x24.txt", &screen(&past, &mut Ui::default(), (80, 24)));
    let small = screen(&shown(), &mut ui, (30, 8));
    assert!(small.starts_with("top needs 60 columns"), "{small}");
}

#[test]
fn the_selection_follows_the_process_and_not_the_row() {
    let shown = with(&[("a", 1, 100), ("b", 2, 300), ("c", 3, 200)]);
    let mut ui = Ui::default();
    press(&mut ui, &shown, &[KeyCode::Down]);
    assert_eq!(ui.pid, Some(3), "the second largest");
    press(&mut ui, &shown, &[KeyCode::Char('r')]);
    let rows = ui.rows(&shown);
    assert_eq!((ui.pid, ui.selected(&rows)), (Some(3), 1));
    press(&mut ui, &shown, &[KeyCode::End]);
    assert_eq!(ui.pid, Some(2));
    press(&mut ui, &shown, &[KeyCode::PageUp, KeyCode::Home]);
    assert_eq!(ui.pid, Some(1));
    let gone = with(&[("b", 2, 300)]);
    let rows = ui.rows(&gone);
    assert_eq!(ui.selected(&rows), 0);
    assert_eq!(press(&mut ui, &gone, &[KeyCode::Enter]), Wish::Map(2));
    assert_eq!(ui.tab, Tab::Map);
}

#[test]
fn a_filter_is_typed_kept_and_dropped() {
    let shown = with(&[("redis-server", 10, 100), ("java", 20, 300)]);
    let mut ui = Ui::default();
    let text = "/REDIS".chars().map(KeyCode::Char).collect::<Vec<_>>();
    press(&mut ui, &shown, &text);
    assert!(ui.typing.is_some() && ui.processes(&shown).len() == 1);
    // A letter that is a command elsewhere.
    press(&mut ui, &shown, &[KeyCode::Char('q'), KeyCode::Backspace, KeyCode::Enter]);
    assert_eq!((ui.typing, ui.filter.as_str()), (None, "REDIS"));
    let text = screen(&shown, &mut ui, (80, 24));
    assert!(text.contains("filter 'REDIS'") && !text.contains("java"), "{text}");
    press(&mut ui, &shown, &[KeyCode::Esc]);
    assert_eq!(ui.processes(&shown).len(), 2);
}

#[test]
fn clicks_select_sort_and_turn_pages() {
    let shown = with(&[("a", 1, 100), ("b", 2, 300), ("c", 3, 200)]);
    let mut ui = Ui::default();
    screen(&shown, &mut ui, (80, 24));
    let rows = ui.places.rows;
    click(&mut ui, &shown, (3, rows.y + 2));
    assert_eq!(ui.pid, Some(1), "the smallest is the last");
    let (pid, key) = ui.places.headings[0];
    click(&mut ui, &shown, (pid.x, pid.y));
    assert_eq!((ui.sort, key, ui.descending), ("pid", "pid", true));
    click(&mut ui, &shown, (pid.x, pid.y));
    assert!(!ui.descending);
    let (manager, _) = ui.places.tabs[3];
    click(&mut ui, &shown, (manager.x + 1, manager.y));
    assert_eq!(ui.tab, Tab::Manager);
    click(&mut ui, &shown, (79, 23));
    assert_eq!(ui.tab, Tab::Manager, "a click on nothing");
}

#[test]
fn long_lists_scroll_with_the_selection() {
    let names: Vec<(String, u32, u64)> =
        (1..=100).map(|pid| (format!("p{pid}"), pid, 1000 - u64::from(pid))).collect();
    let names: Vec<_> = names.iter().map(|(name, pid, mib)| (name.as_str(), *pid, *mib)).collect();
    let shown = with(&names);
    let mut ui = Ui::default();
    screen(&shown, &mut ui, (80, 24));
    press(&mut ui, &shown, &[KeyCode::End]);
    let end = screen(&shown, &mut ui, (80, 24));
    assert!(end.contains("p100") && !end.contains(" p1 "), "{end}");
    press(&mut ui, &shown, &[KeyCode::Up]);
    let up = screen(&shown, &mut ui, (80, 24));
    assert!(up.contains("p100"), "the list moves only when it must: {up}");
}

#[test]
fn what_is_unknown_comes_last_in_any_order() {
    let mut shown = with(&[("a", 1, 100), ("b", 2, 300), ("c", 3, 200)]);
    shown.view.processes[1].scanned = false;
    for descending in [true, false] {
        let ui = Ui { sort: "huge_percent", descending, ..Ui::default() };
        let last = ui.processes(&shown).last().map(|process| process.pid);
        assert_eq!(last, Some(2));
    }
}

fn any_key() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        Just(KeyCode::Up),
        Just(KeyCode::Down),
        Just(KeyCode::PageUp),
        Just(KeyCode::PageDown),
        Just(KeyCode::Home),
        Just(KeyCode::End),
        Just(KeyCode::Enter),
        Just(KeyCode::Esc),
        Just(KeyCode::Tab),
        Just(KeyCode::BackTab),
        any::<char>().prop_map(KeyCode::Char),
        prop::sample::select(vec!['<', '>', 'r', '/', 'd', ' ', '?', '1', '2', '3', '4', '5'])
            .prop_map(KeyCode::Char),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_key_and_no_size_panics(
        keys in prop::collection::vec(any_key(), 0..40),
        clicks in prop::collection::vec((any::<u16>(), any::<u16>()), 0..4),
        size in (1..200u16, 1..60u16),
        names in prop::collection::vec((any::<String>(), 1..5_u32, 0..9_u64), 0..5),
    ) {
        let names: Vec<_> =
            names.iter().map(|(name, pid, mib)| (&name[..], *pid, *mib)).collect();
        let shown = with(&names);
        let mut ui = Ui::default();
        for key in keys {
            press(&mut ui, &shown, &[key]);
            screen(&shown, &mut ui, size);
        }
        for at in clicks {
            click(&mut ui, &shown, at);
            let text = screen(&shown, &mut ui, size);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
}

#[test]
fn no_figure_of_the_head_is_cut() {
    let mut shown = shown();
    shown.view.machine.free_huge = Some(2479);
    for counter in &mut shown.view.machine.counters {
        counter.delta = Some(123_456_789);
    }
    for columns in [100, 80] {
        let screen = screen(&shown, &mut Ui::default(), (columns, 24));
        let head = screen.lines().find(|line| line.starts_with("THP")).expect("the line");
        assert!(head.contains("free blocks 2479") || head.ends_with('~'), "{head}");
        let parts = head.trim_end_matches(['~', ' ']).split("  ");
        for part in parts.filter(|part| part.contains("/s")) {
            assert!(part.ends_with("/s"), "{head}");
        }
    }
}
