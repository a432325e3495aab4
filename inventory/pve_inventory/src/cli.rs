//! What Ansible and a person may ask for.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::{Config, Place};
use crate::error::Error;
use crate::fetch::{Fetched, Wish, fetch};
use crate::guest::{Guest, apart};
use crate::spec::{Spec, bind};
use crate::{hosts, inventory, output, show, spec};

/// Asks the clusters although the cache is fresh: Ansible gives a script no options.
const REFRESH: &str = "PVE_INVENTORY_REFRESH";

/// The guests of Proxmox VE clusters as an Ansible inventory.
///
/// Configured by `pve_inventory.cfg` (in the working directory, beside this program or in
/// `inventory/site` beside it, or where PVE_INVENTORY_CONFIG says) and by the PROXMOX_* variables.
#[derive(Debug, Parser)]
#[command(name = "pve_inventory", version, arg_required_else_help = true)]
struct Arguments {
    /// Print the whole inventory as JSON, as Ansible asks for it.
    #[arg(long, conflicts_with = "host")]
    list: bool,
    /// Print one host's variables: always empty, since `--list` has them all.
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Ask the clusters although the cache is fresh, and every agent that was silent. The variable
    /// PVE_INVENTORY_REFRESH does the same where no option can be given.
    #[arg(long, global = true)]
    refresh: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show every guest with its address, or the reason why it has none.
    Show,
    /// Show how a guest's address was chosen.
    Explain {
        /// The guest's name, host name or vmid.
        guest: String,
    },
    /// Show the configuration in force and where each value came from. Secrets are masked.
    Config,
}

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse();
    match answer(&arguments) {
        Ok(text) => {
            // a reader that has gone away is no failure of the inventory
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// One line on standard error.
fn say(text: &str) {
    let line = text.replace(['\n', '\r'], " ");
    eprintln!("pve_inventory: {}", output::printable(&line));
}

fn answer(arguments: &Arguments) -> Result<String, Error> {
    if arguments.host.is_some() {
        return Ok("{}\n".to_owned());
    }
    let place = Place::here();
    let config = Config::load(&place)?;
    if let Some(Command::Config) = arguments.command {
        let rows: Vec<Vec<String>> = config
            .lines()
            .into_iter()
            .map(|(name, value, origin)| {
                let origin = if origin.is_empty() { origin } else { format!("({origin})") };
                vec![name, value, origin]
            })
            .collect();
        return Ok(show::table(&rows));
    }
    // the specs first: what is wrong with them is said without asking the cluster
    let specs =
        spec::read(&config.guests.value, config.guests.origin != crate::config::Origin::Default)?;
    let wish = Wish {
        refresh: arguments.refresh || place.variable(REFRESH).is_some_and(|value| value != "0"),
        whole: matches!(arguments.command, Some(Command::Explain { .. })),
    };
    let mut fetched = ask(&config, &specs, wish)?;
    apart(&mut fetched.guests);
    for line in &fetched.loud {
        say(line);
    }
    let clusters: Vec<Option<String>> =
        config.clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let binding = bind(&specs, &fetched.guests, &clusters)?;
    let names = || hosts::of(&fetched, &specs, &binding, &config);
    match &arguments.command {
        Some(Command::Show) => Ok(show::guests(&fetched, &names())),
        Some(Command::Explain { guest: wanted }) => {
            let names = names();
            let host = |guest: &Guest| names.guests[&guest.key()].as_str();
            let found: Vec<String> = fetched
                .guests
                .iter()
                .filter(|guest| {
                    guest.vmid.to_string() == *wanted
                        || guest.name.as_ref() == Some(wanted)
                        || host(guest) == wanted
                })
                .map(|guest| show::explain(guest, host(guest), &config.policy.value))
                .collect();
            if found.is_empty() {
                return Err(Error::NoGuest(wanted.clone()));
            }
            Ok(found.join("\n"))
        }
        _ => {
            let inventory = inventory::build(&fetched, &specs, &binding, &config)?;
            Ok(output::ascii(&inventory) + "\n")
        }
    }
}

fn ask(config: &Config, specs: &[Spec], wish: Wish) -> Result<Fetched, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Runtime { source })?;
    runtime.block_on(fetch(config, specs, wish))
}
