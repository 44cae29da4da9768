//! The files of the model are those that `tools/model` describes.

use std::path::Path;

use sha2::{Digest as _, Sha256};

#[test]
fn the_files_have_the_documented_checksums() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(here.join("../../tools/model/README.md")).unwrap();
    for name in ["weights.bin", "vocab.txt"] {
        let content = std::fs::read(here.join("model").join(name)).unwrap();
        let sum =
            Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        assert!(readme.contains(&format!("| `{name}` | {sum} |")), "{name} has {sum}");
    }
}
