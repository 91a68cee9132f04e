//! libFuzzer on `enclos_fuzz::arguments`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| enclos_fuzz::arguments::check(text));
