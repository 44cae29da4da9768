//! The technologies of a project, derived from the files at its root.

use std::path::Path;

/// A file at the root, and the technology it indicates.
const SIGNS: &[(&str, &str)] = &[
    ("Cargo.toml", "Rust"),
    ("go.mod", "Go"),
    ("tsconfig.json", "TypeScript"),
    ("package.json", "Node.js"),
    ("deno.json", "Deno"),
    ("pyproject.toml", "Python"),
    ("setup.py", "Python"),
    ("requirements.txt", "Python"),
    ("Gemfile", "Ruby"),
    ("composer.json", "PHP"),
    ("pom.xml", "Java (Maven)"),
    ("build.gradle", "Java (Gradle)"),
    ("build.gradle.kts", "Kotlin (Gradle)"),
    ("Package.swift", "Swift"),
    ("mix.exs", "Elixir"),
    ("pubspec.yaml", "Dart"),
    ("CMakeLists.txt", "C or C++ (CMake)"),
    ("meson.build", "C or C++ (Meson)"),
    ("stack.yaml", "Haskell"),
    ("dune-project", "OCaml"),
    ("build.zig", "Zig"),
    ("flake.nix", "Nix"),
    ("Dockerfile", "Docker"),
    ("Makefile", "Make"),
];

/// `Rust, Docker`, or `not known`.
pub(crate) fn of(root: &str) -> String {
    let mut found: Vec<&str> = Vec::new();
    for (file, name) in SIGNS {
        if !found.contains(name) && Path::new(root).join(file).is_file() {
            found.push(name);
        }
    }
    if found.is_empty() { "not known".to_owned() } else { found.join(", ") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_stack_is_derived_from_the_files_at_the_root() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().to_str().unwrap();
        assert_eq!(super::of(root), "not known");
        for file in ["Cargo.toml", "setup.py", "pyproject.toml"] {
            std::fs::write(project.path().join(file), "").unwrap();
        }
        assert_eq!(super::of(root), "Rust, Python");
    }
}
