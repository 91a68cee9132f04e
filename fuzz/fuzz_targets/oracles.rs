//! libFuzzer on `enclos_fuzz::oracles`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| enclos_fuzz::oracles::check(text));
