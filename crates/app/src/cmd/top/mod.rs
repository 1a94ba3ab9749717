//! `hugewise top`: machine, processes, manager and findings on a screen that goes on.

mod diagnosis;
mod news;
mod player;
mod sampler;
mod terminal;

use self::news::News;
use self::player::{Go, Player};
use self::sampler::Sampler;
use self::terminal::Screen;
use crate::cli::{Global, TopArgs};
use crate::cmd::{map, recorded};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::text;
use crate::render::view::top::state::{Ui, Wish};
use crate::render::view::top::values::{MapPane, Report, Shown};
use crate::render::view::top::{Palette, draw};
use anyhow::Context;
use hugewise_linux::root::Root;
use hugewise_linux::signals::survive_harmless;
use ratatui::crossterm::event::{Event, KeyEventKind, read};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Duration;

/// How long a key is waited for before news is looked for.
const POLL: Duration = Duration::from_millis(100);

/// Time to end by oneself once the terminal is gone.
const HANGUP: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(global: &Global, args: &TopArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    if !root.is_live() || global.json {
        let why = "top shows the running machine, or its history, on a terminal; for copies of \
                   files and for JSON there is 'hugewise status'";
        return Err(exit::coded(exit::USAGE, why));
    }
    let stop = stop_flag()?;
    let (send, news) = mpsc::channel();
    let player = match args.past.is_meant() {
        true => Some(play_on(args, send.clone())?),
        false => sample_on(&root, args, send.clone()).map(|()| None)?,
    };
    let Ok(News::Shown(first)) = news.recv() else { anyhow::bail!("there is nothing to show") };
    let mut screen = Screen::open()?;
    let palette = Palette { coloured: paint(global).is_coloured() };
    let mut top = Top { root, shown: *first, ui: Ui::default(), send, player, busy: false };
    let ended = top.run(&mut screen, palette, &news, &stop);
    drop(screen);
    ended?;
    Ok(Output::text("", exit::OK))
}

/// Samples once an interval, until the screen is gone.
fn sample_on(root: &Root, args: &TopArgs, send: Sender<News>) -> anyhow::Result<()> {
    let (root, args) = (root.clone(), args.clone());
    let every = Duration::from_secs_f64(args.interval);
    std::thread::Builder::new().name("sampler".into()).spawn(move || {
        let mut sampler = Sampler::new(&root, &args);
        while send.send(News::Shown(Box::new(sampler.sample()))).is_ok() {
            std::thread::sleep(every);
        }
    })?;
    Ok(())
}

/// Shows what was recorded; where to go is told.
fn play_on(args: &TopArgs, send: Sender<News>) -> anyhow::Result<Sender<Go>> {
    let (past, at) = recorded::open(&args.past)?;
    let (orders, go) = mpsc::channel();
    std::thread::Builder::new()
        .name("player".into())
        .spawn(move || Player::new(past, at).run(&go, &send))?;
    Ok(orders)
}

/// Set by a signal that ends a program.
fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    survive_harmless().context("cannot handle signals")?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    // Where the terminal hangs up just while it is read, the reader never comes back.
    let mut gone = Signals::new([SIGHUP])?;
    std::thread::Builder::new().name("hangup".into()).spawn(move || {
        if gone.forever().next().is_some() {
            std::thread::sleep(HANGUP);
            std::process::exit(exit::OK.into());
        }
    })?;
    Ok(stop)
}

/// The screen's loop.
struct Top {
    root: Root,
    shown: Shown,
    ui: Ui,
    send: Sender<News>,
    /// Who shows what was recorded; `None`: it is the machine as it runs.
    player: Option<Sender<Go>>,
    /// A diagnosis is under way.
    busy: bool,
}

impl Top {
    fn run(
        &mut self,
        screen: &mut Screen,
        palette: Palette,
        news: &Receiver<News>,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let (mut stale, mut read_one) = (true, false);
        while !stop.load(Ordering::Relaxed) {
            if stale {
                let size = screen.terminal.size().context("the terminal is gone")?;
                text::set_columns(usize::from(size.width));
                let mut places = None;
                let drawn = screen.terminal.draw(|frame| {
                    places = Some(draw(frame, &self.shown, &self.ui, palette));
                });
                drawn.context("the terminal is gone")?;
                self.ui.places = places.unwrap_or_default();
            }
            // Keys that came together were read together: the terminal itself has none left.
            read_one = screen.wait(if read_one { Duration::ZERO } else { POLL })?;
            stale = read_one;
            if read_one {
                let wish = match read().context("the terminal is gone")? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        self.ui.key(key, &self.shown)
                    }
                    Event::Mouse(mouse) => {
                        self.ui.mouse(mouse, &self.shown);
                        Wish::None
                    }
                    _ => Wish::None,
                };
                if wish == Wish::Quit {
                    return Ok(());
                }
                self.grant(wish)?;
            }
            stale |= self.read(news)?;
        }
        Ok(())
    }

    /// Takes what threads have to tell; whether there was something.
    fn read(&mut self, news: &Receiver<News>) -> anyhow::Result<bool> {
        let mut any = false;
        loop {
            match news.try_recv() {
                Ok(News::Shown(_)) if self.ui.still => {}
                Ok(News::Shown(shown)) => {
                    let map = match shown.past {
                        Some(_) => shown.map.clone(),
                        None => std::mem::replace(&mut self.shown.map, MapPane::Nobody),
                    };
                    let report = std::mem::replace(&mut self.shown.report, Report::None);
                    self.shown = Shown { map, report, ..*shown };
                }
                Ok(News::Map(map)) => self.shown.map = map,
                Ok(News::Report(report)) => {
                    self.busy = matches!(report, Report::Running(_));
                    self.shown.report = report;
                }
                Err(TryRecvError::Empty) => return Ok(any),
                Err(TryRecvError::Disconnected) => {
                    anyhow::bail!("the machine is not sampled any more")
                }
            }
            any = true;
        }
    }

    /// Begins what a key asked for.
    fn grant(&mut self, wish: Wish) -> anyhow::Result<()> {
        let (root, send) = (self.root.clone(), self.send.clone());
        let thread = std::thread::Builder::new();
        if let Some(player) = &self.player {
            let go = match wish {
                Wish::None | Wish::Quit | Wish::Map(_) => return Ok(()),
                Wish::Diagnose => Go::Diagnose,
                Wish::Samples(by) => Go::Samples(by),
                Wish::Seconds(by) => Go::Seconds(by),
                Wish::Jump => Go::To(std::mem::take(&mut self.ui.time)),
                Wish::Play => Go::Play,
            };
            return player.send(go).context("nobody reads the history any more");
        }
        match wish {
            Wish::Map(pid) => {
                thread.name("map".into()).spawn(move || {
                    let map = match map::look(&root, pid, false) {
                        Ok(map) => MapPane::ManagerState(Box::new(map)),
                        Err(error) => MapPane::Refused(format!("{error:#}")),
                    };
                    // An error says that the screen is gone.
                    let _ = send.send(News::Map(map));
                })?;
            }
            Wish::Diagnose if !self.busy => {
                self.busy = true;
                thread.name("diagnosis".into()).spawn(move || {
                    diagnosis::run(&root, |report| send.send(News::Report(report)).is_ok());
                })?;
            }
            _ => {}
        }
        Ok(())
    }
}
