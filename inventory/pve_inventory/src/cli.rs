//! What Ansible and a person may ask for.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use pve_client::Client;
use serde_json::json;

use crate::config::{Config, Place};
use crate::error::Error;
use crate::fetch::{Fetched, fetch};
use crate::spec::{Spec, bind};
use crate::{hosts, inventory, output, show, spec};

/// The guests of a Proxmox VE cluster as an Ansible inventory.
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
            let line = error.to_string().replace(['\n', '\r'], " ");
            eprintln!("pve_inventory: {}", output::printable(&line));
            ExitCode::FAILURE
        }
    }
}

fn answer(arguments: &Arguments) -> Result<String, Error> {
    if arguments.host.is_some() {
        return Ok("{}\n".to_owned());
    }
    let config = Config::load(&Place::here())?;
    if let Some(Command::Config) = arguments.command {
        let rows: Vec<Vec<String>> = config
            .lines()
            .into_iter()
            .map(|(name, value, origin)| {
                let origin = if origin.is_empty() { origin } else { format!("({origin})") };
                vec![name.to_owned(), value, origin]
            })
            .collect();
        return Ok(show::table(&rows));
    }
    // the specs first: what is wrong with them is said without asking the cluster
    let specs =
        spec::read(&config.guests.value, config.guests.origin != crate::config::Origin::Default)?;
    let fetched = ask(&config, &specs)?;
    let binding = bind(&specs, &fetched.guests)?;
    let names = || hosts::of(&fetched.guests, &specs, &binding);
    match &arguments.command {
        Some(Command::Show) => Ok(show::guests(&fetched, &names())),
        Some(Command::Explain { guest: wanted }) => {
            let names = names();
            let host = |vmid: u32| names.get(&vmid).map(String::as_str).unwrap_or_default();
            let found: Vec<String> = fetched
                .guests
                .iter()
                .filter(|guest| {
                    guest.vmid.to_string() == *wanted
                        || guest.name.as_ref() == Some(wanted)
                        || host(guest.vmid.get()) == wanted
                })
                .map(|guest| show::explain(guest, host(guest.vmid.get())))
                .collect();
            if found.is_empty() {
                return Err(Error::NoGuest(wanted.clone()));
            }
            Ok(found.join("\n"))
        }
        _ => {
            let inventory = inventory::build(&fetched, &specs, &binding, &config);
            Ok(output::ascii(&json!(inventory)) + "\n")
        }
    }
}

fn ask(config: &Config, specs: &[Spec]) -> Result<Fetched, Error> {
    let client = Client::connect(&config.connect_options())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Runtime { source })?;
    runtime.block_on(fetch(&client, config, specs))
}
