//! `ferrite-image`: the images that guests are made from.

use std::process::ExitCode;

fn main() -> ExitCode {
    ferrite_image::main()
}
