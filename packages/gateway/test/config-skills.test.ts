import { describe, expect, test } from "vitest";
import { parseConfig } from "../src/config/parse-config.ts";
import { listProblems, parseToml, catchConfigError, formatProblem } from "./config-fixture.ts";

/** Returns a file with `[skills.s]` on line 1 and the path of its text on line 2. */
function skill(lines: string, name = "s"): string {
  return `[skills.${name}]\nfile = "s.md"\n${lines}\n`;
}

const withFile = (toml: string, readFile: (path: string) => string) =>
  parseConfig(toml, { file: "d.toml", env: {}, folder: "/etc/dw", home: "/u/me", readFile });

describe("a skill", () => {
  test("has the text of a file relative to the configuration", () => {
    const { skills } = withFile(skill('when = "Often."'), (path) => `\uFEFFtext of ${path}`);
    expect([...skills]).toEqual([
      [
        "s",
        {
          name: "s",
          text: "text of /etc/dw/s.md",
          when: "Often.",
          always: false,
          description: "",
        },
      ],
    ]);
  });

  test("is read when needed, or always sent", () => {
    expect(parseToml(skill('when = "Often."\nalways = false')).skills.get("s")).toMatchObject({
      when: "Often.",
      always: false,
    });
    const always = parseToml(skill("always = true")).skills.get("s");
    expect(always).toMatchObject({ always: true });
    expect(always).not.toHaveProperty("when");
  });

  test("cannot be both always sent and read when needed", () => {
    expect(listProblems(skill('when = "Often."\nalways = true'))).toEqual([
      "d.toml:4: skills.s.always: cannot be combined with when; remove one of them: the model receives the file in every chat, or reads it when it needs it",
    ]);
  });

  test.each(["", "always = false", 'description = "x"'])(
    "must set one of the two, unlike %j",
    (lines) => {
      expect(listProblems(skill(lines))).toEqual([
        'd.toml:1: skills.s.when: missing; write when = "…", so that the model knows when to read it, or always = true',
      ]);
    },
  );

  test.each([
    ["when = 1", "when: must be a string in quotes, got an integer"],
    ['when = ""', "when: must not be empty; remove it or write a string"],
    ['always = "yes"', "always: must be true or false, got a string"],
    ['always = true\nwhn = "x"', "unknown setting whn (did you mean when?)"],
  ])("with %s is reported once", (line, what) => {
    expect(listProblems(skill(line))).toEqual([
      expect.stringContaining(formatProblem(0, "skills.s", what).slice("d.toml:0".length)),
    ]);
  });

  test("requires a file", () => {
    expect(listProblems("[skills.s]\nalways = true")).toEqual([
      'd.toml:1: skills.s.file: missing; write file = "…", the path of a Markdown file',
    ]);
  });

  test("is an error with the path if its file does not exist", () => {
    const missing = () => {
      throw Object.assign(new Error("no"), { code: "ENOENT" });
    };
    expect(catchConfigError(() => withFile(skill("always = true"), missing)).problems).toEqual([
      "d.toml:2: skills.s.file: /etc/dw/s.md does not exist; paths are relative to the folder of the configuration",
    ]);
  });

  test("may have at most 200 KB", () => {
    const toml = skill("always = true");
    const most = "ä".repeat(100 * 1024);
    expect(withFile(toml, () => most).skills.get("s")?.text).toBe(most);
    expect(catchConfigError(() => withFile(toml, () => `${most}.`)).problems).toEqual([
      "d.toml:2: skills.s.file: the file has 201 KB, and the limit is 200 KB; shorten it, or split it into several skills",
    ]);
  });

  test.each(["1a", '"a b"', '""', `a${"b".repeat(64)}`])("cannot be named %s", (name) => {
    expect(listProblems(skill("always = true", name))).toEqual([
      `d.toml:1: skills.${name}: invalid skill name; start with a letter and use only letters, digits, - and _, at most 64 characters`,
    ]);
  });

  test("must be a table", () => {
    expect(listProblems('skills.s = "s.md"')).toEqual([
      "d.toml:1: skills.s: must be a table ([skills.s]), got a string",
    ]);
  });
});
