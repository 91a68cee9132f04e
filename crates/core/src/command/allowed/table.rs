//! The programs of the allow list and their harmless options.
//!
//! Short options: without a value, then with one. Long options: `name`, `name=` with a value, `name?` with one
//! after `=` only.

use super::{Operands, Program};
use crate::command::options::Options;

const fn program(
    names: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
) -> Program {
    let options = Options { flags, valued, optional: "", long, numbers: false };
    Program { names, options, operands: Operands::Any, strict: false }
}

const fn numbered(program: Program) -> Program {
    Program { options: Options { numbers: true, ..program.options }, ..program }
}

const fn operands(operands: Operands, program: Program) -> Program {
    Program { operands, ..program }
}

const fn strict(program: Program) -> Program {
    Program { strict: true, ..program }
}

const GREP: &str = "extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case \
     no-ignore-case word-regexp line-regexp count color? colour? files-with-matches \
     files-without-match max-count= only-matching quiet silent no-messages byte-offset \
     with-filename no-filename label= line-number initial-tab null after-context= \
     before-context= context= text binary-files= exclude= exclude-dir= exclude-from= include= \
     recursive dereference-recursive invert-match file= line-buffered null-data \
     group-separator= no-group-separator directories= devices= version help";
const RG: &str = "after-context= before-context= context= regexp= fixed-strings file= glob= iglob= hidden \
     ignore-case invert-match json line-number no-line-number line-regexp max-columns= \
     max-count= max-depth= multiline no-ignore no-heading heading null only-matching pcre2 \
     pretty quiet replace= smart-case case-sensitive sort= sortr= stats text threads= trim \
     type= type-not= type-list unrestricted vimgrep with-filename no-filename word-regexp \
     color= colors= column count count-matches files files-with-matches files-without-match \
     follow no-messages no-config passthru byte-offset max-filesize= no-ignore-vcs version \
     help";
const LS: &str = "all almost-all author escape block-size= ignore-backups color? directory classify? \
     file-type format= full-time group-directories-first no-group human-readable si hide= \
     hyperlink? indicator-style= inode ignore= kibibytes dereference numeric-uid-gid literal \
     hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size \
     sort= time= time-style= tabsize= width= context zero version help";
const DIFF: &str = "normal brief report-identical-files context? unified? ed rcs side-by-side width= \
     left-column suppress-common-lines show-c-function show-function-line= label= expand-tabs \
     initial-tab tabsize= recursive no-dereference new-file unidirectional-new-file \
     ignore-file-name-case exclude= exclude-from= starting-file= from-file= to-file= \
     ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change \
     ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr \
     minimal horizon-lines= speed-large-files color? palette= version help";
const SUMS: &str = "binary check tag text zero ignore-missing quiet status strict warn length=";

static PROGRAMS: &[Program] = &[
    program(
        &["cat"],
        "AbeEnstTuv",
        "",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting",
    ),
    program(&["tac"], "br", "s", "before regex separator="),
    program(&["rev"], "", "", ""),
    numbered(program(&["head"], "qvz", "nc", "bytes= lines= quiet silent verbose zero-terminated")),
    numbered(program(
        &["tail"],
        "fFqvzr",
        "ncs",
        "bytes= lines= follow? pid= quiet silent retry sleep-interval= verbose zero-terminated",
    )),
    program(&["wc"], "clmwL", "", "bytes chars lines words max-line-length files0-from= total="),
    program(
        &["nl"],
        "p",
        "bdfhilnsvw",
        "body-numbering= header-numbering= footer-numbering= number-format= number-width= \
     starting-line-number=",
    ),
    program(
        &["od"],
        "abcdfilosvx",
        "AjNStw",
        "address-radix= skip-bytes= read-bytes= format= width? output-duplicates",
    ),
    program(&["hexdump", "hd"], "bcCdovx", "ens", "canonical length= skip= no-squeezing"),
    operands(Operands::AtMost(1), program(&["xxd"], "abceEiupv", "cglos", "")),
    program(&["strings"], "afw", "nte", "all bytes= radix= encoding= print-file-name"),
    numbered(program(&["grep", "egrep", "fgrep"], "EFGPivwxcLloqshHnTzaIrRUyubZ0", "efmABCdDg", GREP)),
    strict(program(&["rg"], "aciFHIlLnNopPqsSuUvwx0.hV", "ABCdefgEjmMrtT", RG)),
    strict(operands(
        Operands::AtMost(1),
        program(
            &["uniq"],
            "cdDiuz",
            "fsw",
            "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique \
     zero-terminated check-chars=",
        ),
    )),
    strict(program(
        &["sort"],
        "bdfghiMnRrVcCmsuz",
        "kt",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort \
     ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse \
     version-sort sort= check? key= merge stable field-separator= unique zero-terminated \
     debug parallel=",
    )),
    program(
        &["cut"],
        "nsz",
        "bcdf",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= \
     zero-terminated",
    ),
    program(&["paste"], "sz", "d", "delimiters= serial zero-terminated"),
    program(&["tr"], "cCdst", "", "complement delete squeeze-repeats truncate-set1"),
    program(&["comm"], "123iz", "", "check-order nocheck-order output-delimiter= total zero-terminated"),
    program(&["join"], "iz", "aejotv12", "ignore-case check-order nocheck-order header zero-terminated"),
    program(&["fold"], "bs", "w", "bytes spaces width="),
    program(&["fmt"], "cstu", "wpg", "width= crown-margin split-only uniform-spacing prefix= goal="),
    program(&["expand", "unexpand"], "ai", "t", "initial tabs= all first-only"),
    program(&["column"], "tneLx", "sNoHRTE", "table separator= output-separator= table-columns= json"),
    numbered(program(&["diff"], "qsceynpuNrtTEbZwBaidPH", "UCWFLxXSI", DIFF)),
    program(&["cmp"], "bls", "in", "print-bytes ignore-initial= verbose bytes= quiet silent"),
    program(&["ls", "dir", "vdir"], "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1", "ITw", LS),
    program(&["stat"], "Lft", "c", "dereference file-system format= printf= terse cached="),
    strict(program(
        &["file"],
        "bhiLNkprs0EIlnSv",
        "FPe",
        "brief mime mime-type mime-encoding dereference no-dereference extension separator=",
    )),
    program(
        &["du"],
        "aAbchHDklLmPsSx0",
        "BdtX",
        "all apparent-size block-size= bytes total max-depth= human-readable inodes si summarize \
     threshold= time? exclude= one-file-system separate-dirs",
    ),
    program(
        &["df"],
        "aHhiklPTv",
        "Btx",
        "all block-size= human-readable si inodes local output? portability print-type type= \
     exclude-type= total",
    ),
    program(&["free"], "bkmghltvwL", "sc", "bytes kilo mega giga human si wide total lohi"),
    program(
        &["ps"],
        "AadeflFHjLmMNTuvwxyZcgrsSVX",
        "CGgopqstUu",
        "forest no-headers headers sort= format= pid= ppid= user= cols= columns= width=",
    ),
    program(
        &["pgrep"],
        "acdfilnovwxL",
        "FGPUugsdt",
        "full list-name list-full newest oldest exact count ignore-case parent=",
    ),
    program(&["uptime"], "ps", "", "pretty since"),
    program(
        &["who", "w", "users", "groups", "logname", "tty", "arch", "nproc", "lsb_release", "lscpu", "lsblk"],
        "abdfHhilmopqrsTtu",
        "",
        "all ignore= json",
    ),
    program(&["id"], "aGgnruzZ", "", "context group groups name real user zero"),
    operands(Operands::None, program(&["whoami"], "", "", "")),
    operands(Operands::None, program(&["pwd"], "LP", "", "logical physical")),
    operands(
        Operands::None,
        program(&["hostname"], "sfdiIAy", "", "short fqdn long domain ip-address all-ip-addresses"),
    ),
    operands(
        Operands::None,
        program(
            &["uname"],
            "asnrvmpio",
            "",
            "all kernel-name nodename kernel-release kernel-version machine processor \
     hardware-platform operating-system",
        ),
    ),
    operands(
        Operands::Format,
        program(&["date"], "uRI", "dr", "date= iso-8601? rfc-3339= rfc-email reference= utc universal"),
    ),
    program(&["which"], "a", "", "all skip-alias skip-functions"),
    program(&["whereis"], "bmsul", "", ""),
    program(&["basename"], "az", "s", "multiple suffix= zero"),
    program(&["dirname"], "z", "", "zero"),
    program(
        &["realpath"],
        "eEmLPqsz",
        "",
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to= \
     relative-base= strip no-symlinks zero",
    ),
    program(
        &["readlink"],
        "femnqsvz",
        "",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose \
     zero",
    ),
    program(&["seq"], "w", "fs", "format= separator= equal-width"),
    program(&["sleep"], "", "", ""),
    program(&["expr"], "", "", ""),
    program(
        &["numfmt"],
        "z",
        "d",
        "to= from= delimiter= field= format= grouping header? padding= round= suffix= to-unit= \
     from-unit= invalid=",
    ),
    program(&["factor"], "", "", ""),
    program(
        &[
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "shasum",
        ],
        "bctwz",
        "al",
        SUMS,
    ),
    strict(program(&["base64", "base32"], "di", "w", "decode ignore-garbage wrap=")),
    strict(program(
        &["tree"],
        "adfilxACDFghNpqQrsStuUv",
        "LPI",
        "filelimit= prune noreport charset= dirsfirst gitignore sort= du matchdirs ignore-case",
    )),
    strict(program(
        &["jq"],
        "cnrjaCSMse",
        "",
        "compact-output null-input raw-output raw-input join-output ascii-output color-output \
     sort-keys monochrome-output slurp exit-status tab indent=",
    )),
    program(&["printenv"], "0", "", "null"),
    operands(Operands::None, program(&["locale"], "a", "", "all-locales")),
    operands(Operands::None, program(&["jobs"], "lnprs", "", "")),
];

/// Programs that print their version, and nothing else, when that is all they are asked. Not those that a file of the
/// project tells which program to run instead.
const VERSIONED: [&str; 33] = [
    "python", "python3", "node", "npm", "go", "gcc", "g++", "clang", "cc", "c++", "make", "cmake", "ninja",
    "git", "docker", "kubectl", "ruby", "gem", "perl", "php", "java", "javac", "gradle", "pip", "pip3",
    "bash", "tar", "zip", "unzip", "jq", "rg", "sed", "awk",
];

pub(super) fn prints_version(name: &str) -> bool {
    VERSIONED.contains(&name) || find(name).is_some()
}

pub(super) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}
