//! `pve-lab up|down|serve|status|image|requests|fault`.

mod daemon;
mod fault;
mod files;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use pve_lab::driver::GuestDriver;
use pve_lab::guests::RealGuests;
use pve_lab::image::{Image, Suite};
use pve_lab::{Fleet, Lab, LabConfig, PveVersion, Request, Start};

/// A Proxmox VE API for demonstrations and tests, with real guests or without.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the lab in the background and return when it answers.
    Up(Options),
    /// Stop the lab and remove every trace of it.
    Down(Place),
    /// Run the lab in the foreground until it is interrupted.
    Serve(Options),
    /// Say whether the lab runs, and where.
    Status(Place),
    /// Put the guest image of a release into the lab's storage, building it if need be.
    Image {
        #[command(flatten)]
        place: Place,
        /// The release of Debian.
        #[arg(long, value_enum, default_value = "13")]
        release: Release,
        /// The image without Python and cloud-init.
        #[arg(long)]
        without_python: bool,
    },
    /// Print the requests that the lab has answered, secrets masked.
    Requests {
        #[command(flatten)]
        place: Place,
        /// Only those that ask for a change.
        #[arg(long)]
        writes: bool,
    },
    /// Let something go wrong in a lab that runs.
    Fault {
        #[command(flatten)]
        place: Place,
        #[command(subcommand)]
        kind: fault::Kind,
    },
}

#[derive(Debug, Args, Clone)]
struct Place {
    /// The lab's directory.
    #[arg(long, default_value = ".lab", global = true)]
    dir: PathBuf,
}

#[derive(Debug, Args, Clone)]
struct Options {
    #[command(flatten)]
    place: Place,
    /// Where to listen; without it port 8006, or a free one if that is taken.
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// The state to begin in, if the directory holds none.
    #[arg(long, value_enum, default_value_t = StartName::Empty)]
    start: StartName,
    /// The version whose answers to give.
    #[arg(long, value_enum, default_value_t = VersionName::V9)]
    pve_version: VersionName,
    /// Scales the waits that PVE has (3 s after a refused login, say); 0 does without.
    #[arg(long, default_value_t = 1.0)]
    delays: f64,
    /// Seconds until the cluster's listing knows a new guest.
    #[arg(long, default_value_t = 4.0)]
    lag: f64,
    /// Guests have settings only, and run in name only. This needs no root.
    #[arg(long)]
    state_only: bool,
    /// The guest image is put into the directory's `images`, for an upload, and not into the storage.
    #[arg(long, conflicts_with = "state_only")]
    image_aside: bool,
    /// So many guests are there from the beginning, in memory only.
    #[arg(long, requires = "state_only")]
    fleet: Option<u32>,
    /// How many nodes a new lab has; 1 unless there is a fleet, which is on 3.
    #[arg(long)]
    nodes: Option<u32>,
    /// The fleet's names, notes and agents try to do harm.
    #[arg(long, requires = "fleet")]
    hostile: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StartName {
    Empty,
    Recordings,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Release {
    #[value(name = "12")]
    Bookworm,
    #[value(name = "13")]
    Trixie,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VersionName {
    #[value(name = "9.2", alias = "9", alias = "9.2.11")]
    V9,
    #[value(name = "8.4", alias = "8", alias = "8.4.1")]
    V8,
}

/// Carries out a command.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Up(options) => daemon::up(&options),
        Command::Down(place) => daemon::down(&place.dir),
        Command::Serve(options) => serve(&options),
        Command::Status(place) => daemon::status(&place.dir),
        Command::Image { place, release, without_python } => {
            let suite = match release {
                Release::Bookworm => Suite::Bookworm,
                Release::Trixie => Suite::Trixie,
            };
            image(&place.dir, if without_python { Image::bare(suite) } else { Image::cloud(suite) })
        }
        Command::Requests { place, writes } => requests(&place.dir, writes),
        Command::Fault { place, kind } => fault::run(&place.dir, kind),
    }
}

/// The driver of real guests, or what is missing for it.
fn real_guests(dir: &Path) -> anyhow::Result<RealGuests> {
    RealGuests::open(dir).map_err(|missing| {
        anyhow::anyhow!(
            "real guests need what this machine does not have:\n  {}\nwith --state-only the lab \
             runs without guests",
            missing.join("\n  ")
        )
    })
}

fn imports(dir: &Path) -> PathBuf {
    dir.join("storage/local/import")
}

fn image(dir: &Path, image: Image) -> anyhow::Result<()> {
    let dir = files::absolute(dir)?;
    real_guests(&dir)?.provide_image(&imports(&dir), image).context("failed to provide the image")
}

/// The addresses to try, in their order.
fn addresses(options: &Options) -> Vec<SocketAddr> {
    match options.listen {
        Some(address) => vec![address],
        None => [8006, 0].map(|port| SocketAddr::from(([127, 0, 0, 1], port))).to_vec(),
    }
}

fn start(options: &Options, dir: &Path) -> anyhow::Result<Lab> {
    let driver: Option<Arc<dyn GuestDriver>> = if options.state_only {
        None
    } else {
        let guests = real_guests(dir)?;
        let place = if options.image_aside { dir.join("images") } else { imports(dir) };
        guests.provide_images(&place).context("failed to provide the image")?;
        Some(Arc::new(guests))
    };
    let addresses = addresses(options);
    let mut address = addresses[0];
    if addresses.len() > 1 && std::net::TcpListener::bind(address).is_err() {
        address = addresses[1];
        println!("pve-lab: port 8006 is taken; listening on a free port instead");
    }
    Lab::try_start(LabConfig {
        dir: Some(dir.to_owned()),
        listen: address,
        version: match options.pve_version {
            VersionName::V9 => PveVersion::V9,
            VersionName::V8 => PveVersion::V8,
        },
        start: match options.start {
            StartName::Empty => Start::Empty,
            StartName::Recordings => Start::Recordings,
        },
        delays: options.delays,
        lag: Duration::try_from_secs_f64(options.lag).context("--lag is no time")?,
        nodes: options.nodes.unwrap_or(1),
        driver,
        fleet: options.fleet.map(|guests| Fleet {
            guests,
            nodes: options.nodes.unwrap_or(3),
            hostile: options.hostile,
            ..Fleet::default()
        }),
        request_log: Some(dir.join("requests.jsonl")),
        ..LabConfig::default()
    })
}

fn serve(options: &Options) -> anyhow::Result<()> {
    let dir = files::absolute(&options.place.dir)?;
    fs::create_dir_all(&dir).with_context(|| format!("failed to make {}", dir.display()))?;
    let _mine = daemon::claim(&dir)?;
    let lab = start(options, &dir)?;
    lab.listen_for_faults(&dir.join("control"))?;
    files::write(&lab, &dir)?;
    println!("pve-lab: PVE answers on {}", lab.url());
    println!("pve-lab: settings for clients are in {}", dir.join("env").display());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut ended = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            result = tokio::signal::ctrl_c() => result,
            _ = ended.recv() => Ok(()),
        }
    })?;
    drop(lab);
    // the directory may have been removed meanwhile
    let _ = fs::remove_file(dir.join("control"));
    Ok(())
}

fn requests(dir: &Path, writes: bool) -> anyhow::Result<()> {
    let path = dir.join("requests.jsonl");
    let text =
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    for line in text.lines() {
        let request: Request = serde_json::from_str(line)
            .with_context(|| format!("{} has a broken line", path.display()))?;
        if writes && !request.is_write() {
            continue;
        }
        let params: Vec<String> =
            request.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        println!(
            "{:>8} {:3} {:6} {} {} {}",
            request.at,
            request.status,
            request.method,
            request.path,
            params.join(" "),
            request.user
        );
    }
    if text.is_empty() && !dir.join("cluster.json").exists() {
        bail!("there is no lab in {}", dir.display());
    }
    Ok(())
}
