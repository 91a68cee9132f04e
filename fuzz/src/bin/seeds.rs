//! `seeds FOLDER`: writes the tables of the tests as first inputs, a folder for each target.

use std::path::Path;

use enclos_fuzz::tables;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "corpus".to_owned());
    let inputs = [
        ("reader", tables::commands()),
        ("oracles", tables::commands()),
        ("rules", tables::policies()),
        ("arguments", tables::arguments()),
    ];
    for (target, texts) in inputs {
        let folder = Path::new(&folder).join(target);
        std::fs::create_dir_all(&folder)?;
        for (number, text) in texts.iter().enumerate() {
            std::fs::write(folder.join(format!("table-{number:04}")), text)?;
        }
    }
    Ok(())
}
