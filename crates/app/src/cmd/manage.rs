//! `hugewise manage`: the command line of the daemon.

use crate::cli::{Global, ManageArgs, ModeArg, duration, pids};
use crate::output::Output;
use crate::render::text;
use hugewise_daemon::manage;
use hugewise_daemon::options::Options;
use hugewise_experiment::settings;
use hugewise_manager::config::Mode;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &ManageArgs) -> anyhow::Result<Output> {
    let ended = manage::run(&options(global, args)?)?;
    if global.json {
        let mut json = serde_json::to_value(&ended.status)?;
        if let Some(guarantee) = &ended.guarantee {
            json["guarantee"] = serde_json::to_value(guarantee)?;
        }
        return Output::json(&json, ended.code);
    }
    Ok(Output::text(text::wrapped(&ended.summary), ended.code))
}

fn options(global: &Global, args: &ManageArgs) -> anyhow::Result<Options> {
    let promotion_off = args.give_back.then(|| "promote.enabled=false".to_owned());
    Ok(Options {
        root: global.root.clone(),
        quiet: global.json,
        mode: args.mode.map(mode).or(args.give_back.then_some(Mode::Guard)),
        pids: pids(&args.pid),
        once: args.once || args.guarantee.is_some(),
        guarantee: args.guarantee,
        length: args.r#for.as_deref().map(duration).transpose()?,
        dry_run: args.dry_run,
        keep_settings: args.keep_settings,
        config: args.config.clone(),
        set: args.set.iter().cloned().chain(promotion_off).collect(),
        journal: args.journal.clone(),
        record: args.record.clone(),
        state_dir: args.state_dir.clone(),
        run_dir: args.daemon.run_dir.clone(),
        in_experiment: args.in_experiment,
        probe: &["lab", "workload", "probe"],
        experiments: &settings::LEFT,
    })
}

fn mode(arg: ModeArg) -> Mode {
    match arg {
        ModeArg::Ingens => Mode::Ingens,
        ModeArg::Guard => Mode::Guard,
        ModeArg::Auto => Mode::Auto,
        ModeArg::Observe => Mode::Observe,
    }
}
