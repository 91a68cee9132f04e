//! libFuzzer on `enclos_fuzz::rules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| enclos_fuzz::rules::check(text));
