//! libFuzzer on `enclos_fuzz::reader`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| enclos_fuzz::reader::check(text));
