//! `--json`: what is printed is what `docs/schema` says.

use super::*;
use serde_json::Value;

/// The words of JSON Schema that our schema uses, as they are defined there.
struct Schema(Value);

impl Schema {
    fn read() -> Self {
        let text = include_str!("../../docs/schema/ptxlift-1.schema.json");
        Schema(serde_json::from_str(text).expect("JSON"))
    }

    /// What is wrong with a value.
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let wrong = |what: String| Err(format!("{at}: {what}: {value}"));
        for (word, rule) in schema.as_object().expect("a schema is an object") {
            match word.as_str() {
                "$schema" | "$defs" | "title" | "description" | "required" => {}
                "$ref" => {
                    let path = rule.as_str().expect("a reference").trim_start_matches('#');
                    let target = self.0.pointer(path).expect("a definition");
                    self.check(target, value, at)?;
                }
                "oneOf" => {
                    let rules = rule.as_array().expect("a list");
                    let results: Vec<_> = rules.iter().map(|r| self.check(r, value, at)).collect();
                    if results.iter().filter(|r| r.is_ok()).count() != 1 {
                        return wrong(format!("not one of {results:?}"));
                    }
                }
                "const" if rule != value => return wrong(format!("not {rule}")),
                "enum" if !rule.as_array().expect("a list").contains(value) => {
                    return wrong(format!("none of {rule}"));
                }
                "const" | "enum" => {}
                "type" => {
                    let is = |name: &Value| match name.as_str().expect("a name") {
                        "object" => value.is_object(),
                        "array" => value.is_array(),
                        "string" => value.is_string(),
                        "boolean" => value.is_boolean(),
                        "null" => value.is_null(),
                        "integer" => value.is_i64() || value.is_u64(),
                        "number" => value.is_number(),
                        other => panic!("type {other}"),
                    };
                    let any = match rule {
                        Value::Array(names) => names.iter().any(is),
                        name => is(name),
                    };
                    if !any {
                        return wrong(format!("not of type {rule}"));
                    }
                }
                "minimum" if value.as_f64() < rule.as_f64() => return wrong("too small".into()),
                "minimum" => {}
                "pattern" => {
                    let pattern = rule.as_str().expect("a pattern");
                    let text = value.as_str().unwrap_or_default();
                    if !regex::Regex::new(pattern)
                        .expect("a pattern")
                        .is_match(text)
                    {
                        return wrong(format!("does not match {pattern}"));
                    }
                }
                "minItems" | "maxItems" => {
                    let length = value.as_array().map_or(0, Vec::len) as u64;
                    let limit = rule.as_u64().expect("a number");
                    if (word == "minItems" && length < limit)
                        || (word == "maxItems" && length > limit)
                    {
                        return wrong(format!("{word} {limit}"));
                    }
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}[{i}]"))?;
                    }
                }
                "properties" => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        if let Some(rule) = rule.get(name) {
                            self.check(rule, item, &format!("{at}.{name}"))?;
                        }
                    }
                }
                "additionalProperties" if rule.is_object() => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        self.check(rule, item, &format!("{at}.{name}"))?;
                    }
                }
                "additionalProperties" => {
                    let names = value.as_object().into_iter().flatten();
                    for (name, _) in names {
                        if schema["properties"].get(name).is_none() {
                            return wrong(format!("no field `{name}` is described"));
                        }
                    }
                }
                other => panic!("the schema uses `{other}`, which this test does not know"),
            }
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            if value.get(name.as_str().expect("a name")).is_none() {
                return wrong(format!("{name} is missing"));
            }
        }
        Ok(())
    }
}

/// The objects on standard output, each as the schema says, and of these types.
#[track_caller]
fn objects(output: &Output, types: &[&str]) -> Vec<Value> {
    let schema = Schema::read();
    let text = stdout(output);
    let objects: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    for object in &objects {
        // The definition by itself tells better what is wrong than `oneOf`.
        let ty = object["type"].as_str().expect("a type");
        schema
            .check(&schema.0["$defs"][ty], object, ty)
            .unwrap_or_else(|e| panic!("{e}"));
        schema
            .check(&schema.0, object, "")
            .expect("one of the types");
    }
    let found: Vec<&str> = objects.iter().filter_map(|o| o["type"].as_str()).collect();
    assert_eq!(found, types, "{text}\n{}", stderr(output));
    objects
}

/// The objects on standard output, each as the schema says, all of this type.
#[track_caller]
pub(super) fn objects_of(output: &Output, ty: &str) -> Vec<Value> {
    let types = vec![ty; stdout(output).lines().count()];
    objects(output, &types)
}

const ADD: &[&str] = &[
    "--kernel",
    "add_n",
    "--block",
    "4",
    "--arg",
    "u32[4]:zeros",
    "--arg",
    "u32[4]:iota start=1 step=1",
    "--arg",
    "u32:16",
    "--print",
    "0",
];

#[test]
fn launches() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let run = |more: &[&str]| ptxlift(&[&["run", "--json", file.as_str()], ADD, more].concat());
    let output = run(&["--repeat", "3", "--stats", "--engine", "both"]);
    code(&output, 0);
    let list = objects(&output, &["launch", "launch"]);
    let (interp, jit) = (&list[0], &list[1]);
    assert_eq!(interp["engine"], "interp");
    assert_eq!(
        interp["buffers"][0]["elements"],
        serde_json::json!([17, 18, 19, 20])
    );
    assert_eq!(interp["buffers"], jit["buffers"]);
    assert_eq!(jit["run_seconds"].as_array().map(Vec::len), Some(3));
    assert_eq!((&jit["threads"], &jit["blocks"]), (&4.into(), &1.into()));
    // 11 instructions, by 4 threads.
    let launch = &interp["stats"]["launch"];
    assert_eq!(launch["steps"], 44);
    let executed = interp["stats"]["executed"].as_array().expect("a list");
    let of =
        |name: &str| executed.iter().find(|e| e["mnemonic"] == name).expect(name)["count"].clone();
    assert_eq!(
        (of("ld"), of("add"), of("ret")),
        (16.into(), 12.into(), 4.into())
    );
    assert!(jit["stats"].get("executed").is_none() && interp["stats"].get("compile").is_none());
    assert!(jit["stats"]["compile"]["code_bytes"].as_u64() > Some(0));
    assert_eq!(jit["stats"]["kernel"]["registers"]["b64"], 3);

    let output = run(&["--trace", "--trace-thread", "2", "--trace-line", "17"]);
    let list = objects(&output, &["step", "launch"]);
    assert_eq!(list[0]["instruction"], "add.u32 %r3, %r2, %r0");
    assert_eq!(
        list[0]["reads"][1],
        serde_json::json!({"register": "%r0", "value": "00000010"})
    );
    assert_eq!(list[0]["writes"][0]["value"], "00000013");
}

#[test]
fn descriptions() {
    let folder = Folder::new();
    folder.file("kernels.ptx", KERNELS);
    let launch = folder.file("launch.toml", DESCRIPTION);
    folder.file("expected.bin", words(&[15, 16, 17, 18]));
    let output = ptxlift(&["run", "--json", &launch]);
    code(&output, 0);
    assert_eq!(objects(&output, &["launch"])[0]["verdict"]["passed"], true);
    folder.file("expected.bin", words(&[15, 16, 17, 19]));
    let output = ptxlift(&["run", "--json", &launch]);
    code(&output, 1);
    let verdict = &objects(&output, &["launch"])[0]["verdict"];
    assert_eq!(verdict["passed"], false);
    assert_eq!(verdict["expected"], "out[3] = 00000013 (19)");
    // The same in words.
    assert!(stderr(&output).contains("expected out[3] = 00000013 (19); got"));
}

#[test]
fn failures_of_every_class() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let bad = folder.file(
        "bad.ptx",
        ".version 8.0\n.target sm_80\n.entry k()\n{\n  frobnicate;\n  ret;\n}\n",
    );
    let description = folder.file("x.ptx", DESCRIPTION);
    let run = ["run", "--json", file.as_str(), "--kernel"];
    for (args, exit, class) in [
        (&[&run[..], &["add_m"]].concat()[..], 2, "usage"),
        (
            &[&run[..], &["traps", "--engine", "magic"]].concat(),
            2,
            "usage",
        ),
        (&["run", "--json", "no-such-file.ptx"], 1, "input"),
        (&["run", "--json", &description], 1, "input"),
        (&["run", "--json", &bad], 1, "text"),
        (&[&run[..], &["meets"]].concat(), 4, "unsupported"),
        (&[&run[..], &["traps"]].concat(), 3, "fault"),
        (
            &["eval", "--json", "bfe.b32 %d, %a, %b, %c", "1", "2", "3"],
            1,
            "text",
        ),
        (&["isa", "--json", "bfx"], 2, "usage"),
        (&["test", "--json", "no-such-folder"], 1, "input"),
        (&["check", "--json", "no-such-file.ptx"], 1, "input"),
    ] {
        let output = ptxlift(args);
        code(&output, exit);
        let error = &objects(&output, &["error"])[0];
        assert_eq!(
            (&error["class"], &error["exit_code"]),
            (&class.into(), &exit.into()),
            "{args:?}"
        );
        assert!(!stderr(&output).is_empty());
        if class == "fault" {
            assert_eq!(
                (&error["fault"]["kind"], &error["fault"]["line"]),
                (&"trap".into(), &24.into())
            );
        }
        if class == "unsupported" {
            assert_eq!(error["unsupported"][0]["family"], "tensor cores");
        }
        if args.contains(&bad.as_str()) {
            let diagnostic = &error["diagnostics"][0];
            assert_eq!(
                (&diagnostic["line"], &diagnostic["column"]),
                (&5.into(), &3.into())
            );
            assert_eq!(
                (&diagnostic["end_column"], &diagnostic["severity"]),
                (&13.into(), &"error".into())
            );
        }
    }
}

#[test]
fn files_cases_statements_instructions() {
    let folder = Folder::new();
    let text = ".version 8.0\n.target sm_80\n.func (.reg .u32 d) f(.reg .u32 a) { add.u32 d, a, 1; ret; }\n";
    let file = folder.file(
        "f.ptx",
        format!("{text}// run: %f(1) == 2\n// run: %f(1) == 3\n"),
    );
    let output = ptxlift(&["check", "--json", &file]);
    code(&output, 0);
    let check = &objects(&output, &["check"])[0];
    assert_eq!(check["functions"][0]["results"][0]["name"], "d");
    assert_eq!(check["functions"][0]["parameters"][0]["type"], "u32");

    let output = ptxlift(&["test", "--json", "--engine", "jit", &file]);
    code(&output, 1);
    let cases = objects(&output, &["case", "case"]);
    assert_eq!(
        (&cases[0]["outcome"], &cases[1]["outcome"]),
        (&"passed".into(), &"failed".into())
    );
    assert_eq!(cases[1]["line"], 5);

    let output = ptxlift(&["eval", "--json", "sub.s16 %d, %a, %b", "1", "3"]);
    let eval = &objects(&output, &["eval"])[0];
    assert_eq!(eval["agree"], true);
    for engine in eval["engines"].as_array().expect("a list") {
        let result = &engine["results"][0];
        assert_eq!(
            (&result["hex"], &result["unsigned"], &result["signed"]),
            (&"0xfffe".into(), &65534.into(), &(-2).into())
        );
    }

    let output = ptxlift(&["isa", "--json"]);
    let isa = &objects(&output, &["isa"])[0];
    let families = isa["families"].as_array().expect("a list");
    let video = families
        .iter()
        .find(|f| f["family"] == "video")
        .expect("video instructions");
    assert!(
        video["mnemonics"]
            .as_array()
            .expect("a list")
            .contains(&"vset4".into())
    );
    let output = ptxlift(&["isa", "--json", "shf"]);
    let shf = &objects(&output, &["instruction"])[0];
    assert_eq!(shf["amd_relatives"], serde_json::json!(["v_alignbit_b32"]));
    assert!(
        shf["forms"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|f| f["ptx"] == "3.1" && f["target"] == 32)
    );
}

#[test]
fn random_programs() {
    let output = ptxlift(&["fuzz", "--json", "--seed", "1", "--programs", "2"]);
    code(&output, 0);
    let fuzz = &objects(&output, &["fuzz"])[0];
    assert_eq!((&fuzz["seed"], &fuzz["programs"]), (&1.into(), &2.into()));
    assert!(
        fuzz["rows"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|r| r["executed"] != 0)
    );
}
