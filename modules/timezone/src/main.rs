//! Sets the time zone by files alone. It does not set the clock, and asks neither dbus nor
//! timedatectl.

use std::process::ExitCode;

mod apply;
mod error;
mod module;
mod observe;
mod params;
mod plan;

fn main() -> ExitCode {
    ansible_module::run::<module::Timezone>()
}
