//! Machines for which code is made: this one, whose code runs, and others, whose code is only shown.

use super::CompileError;
use cranelift_codegen::isa::Builder as IsaBuilder;

#[cfg(feature = "cli")]
pub use named::{ARCHITECTURES, Named};

/// A machine for which code is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Target {
    /// This one, with the features that it has.
    #[default]
    Host,
    /// One that is named, with the features that its kind has today.
    #[cfg(feature = "cli")]
    Named(Named),
}

impl Target {
    /// Cranelift's builder for the machine.
    pub(super) fn builder(&self) -> Result<IsaBuilder, CompileError> {
        match self {
            Target::Host => {
                cranelift_native::builder().map_err(|e| CompileError::Host(e.to_string()))
            }
            #[cfg(feature = "cli")]
            Target::Named(named) => named.builder(),
        }
    }
}

#[cfg(feature = "cli")]
mod named {
    use super::{CompileError, IsaBuilder};
    use cranelift_codegen::isa::lookup;
    use cranelift_codegen::settings::Configurable;
    use target_lexicon::{Aarch64Architecture, Architecture, PointerWidth, Triple};

    /// The architectures of named machines.
    pub const ARCHITECTURES: [&str; 4] = ["aarch64", "riscv64", "s390x", "x86_64"];

    /// A named machine.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub struct Named {
        /// Its architecture or triple, as it was given.
        name: String,
        triple: Triple,
        profile: Profile,
    }

    /// What a machine is taken to have.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    struct Profile {
        name: &'static str,
        /// As Cranelift names it.
        features: &'static [&'static str],
    }

    impl Profile {
        /// That of today's machines of an architecture, if code can be made for these.
        fn of(architecture: Architecture) -> Option<Profile> {
            let (name, features): (_, &[_]) = match architecture {
                Architecture::Aarch64(Aarch64Architecture::Aarch64) => ("Armv8.1-A", &["has_lse"]),
                // Lowered code has vectors, which are V.
                Architecture::Riscv64(_) => (
                    "RVA23",
                    &[
                        "has_c",
                        "has_v",
                        "has_zba",
                        "has_zbb",
                        "has_zbs",
                        "has_zca",
                        "has_zcb",
                        "has_zcd",
                        "has_zfa",
                        "has_zicond",
                        "has_zvbb",
                    ],
                ),
                Architecture::S390x => ("z15", &["z15"]),
                Architecture::X86_64 => ("x86-64-v3", &["x86-64-v3"]),
                _ => return None,
            };
            Some(Profile { name, features })
        }
    }

    impl Named {
        /// A machine by its architecture or its triple; `None` if no code can be made for it.
        pub fn new(name: &str) -> Option<Named> {
            let triple: Triple = name.parse().ok()?;
            let profile = Profile::of(triple.architecture)?;
            let has_room = triple.pointer_width() == Ok(PointerWidth::U64);
            has_room.then(|| Named {
                name: name.to_string(),
                triple,
                profile,
            })
        }

        /// Its name, and what it is taken to have.
        pub fn description(&self) -> String {
            format!("{}, {}", self.name, self.profile.name)
        }

        pub(super) fn builder(&self) -> Result<IsaBuilder, CompileError> {
            let mut builder =
                lookup(self.triple.clone()).map_err(|e| CompileError::Host(e.to_string()))?;
            for feature in self.profile.features {
                builder.enable(feature).map_err(|e| CompileError::Setting {
                    name: feature.to_string(),
                    value: "true".to_string(),
                    message: e.to_string(),
                })?;
            }
            Ok(builder)
        }
    }
}
