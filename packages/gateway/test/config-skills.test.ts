import { describe, expect, test } from "vitest";
import { readConfig } from "../src/config/read.ts";
import { problemsIn, read, refusalOf } from "./reading-config.ts";

/** Line 1 of the file is `[skills.s]`, line 2 its file. */
function skill(lines: string, name = "s"): string {
  return `[skills.${name}]\nfile = "s.md"\n${lines}\n`;
}

const withFile = (toml: string, readFile: (path: string) => string) =>
  readConfig(toml, { file: "d.toml", env: {}, folder: "/etc/dw", home: "/u/me", readFile });

describe("a skill", () => {
  test("has the text of a file beside the configuration", () => {
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

  test("is read when it is needed, or told always", () => {
    expect(read(skill('when = "Often."\nalways = false')).skills.get("s")).toMatchObject({
      when: "Often.",
      always: false,
    });
    const always = read(skill("always = true")).skills.get("s");
    expect(always).toMatchObject({ always: true });
    expect(always).not.toHaveProperty("when");
  });

  test("is not both", () => {
    expect(problemsIn(skill('when = "Often."\nalways = true'))).toEqual([
      "d.toml:4: skills.s.always: is there beside when; keep one of the two: the model is told the whole file always, or reads it when it needs it",
    ]);
  });

  test.each(["", "always = false", 'description = "x"'])("is not neither, as with %j", (lines) => {
    expect(problemsIn(skill(lines))).toEqual([
      'd.toml:1: skills.s.when: is missing; write when = "…", so that the model knows when to read it, or always = true',
    ]);
  });

  test.each([
    ["when = 1", "when: is a whole number; write a text in quotes"],
    ['when = ""', "when: is empty; leave it out, or write a text"],
    ['always = "yes"', "always: is a text; write true or false"],
    ['always = true\nwhn = "x"', "whn: is no setting; did you mean when?"],
  ])("with %s is refused once", (line, what) => {
    expect(problemsIn(skill(line))).toEqual([expect.stringContaining(`: skills.s.${what}`)]);
  });

  test("needs a file", () => {
    expect(problemsIn("[skills.s]\nalways = true")).toEqual([
      'd.toml:1: skills.s.file: is missing; write file = "…", the path of a Markdown file',
    ]);
  });

  test("whose file is not there is refused with its path", () => {
    const missing = () => {
      throw Object.assign(new Error("no"), { code: "ENOENT" });
    };
    expect(refusalOf(() => withFile(skill("always = true"), missing)).problems).toEqual([
      "d.toml:2: skills.s.file: /etc/dw/s.md does not exist; give the path of a file, seen from the folder of the configuration",
    ]);
  });

  test("may have 200 KB, in bytes, and no more", () => {
    const toml = skill("always = true");
    const most = "ä".repeat(100 * 1024);
    expect(withFile(toml, () => most).skills.get("s")?.text).toBe(most);
    expect(refusalOf(() => withFile(toml, () => `${most}.`)).problems).toEqual([
      "d.toml:2: skills.s.file: has 201 KB, and 200 are the most; shorten it, or make several skills of it",
    ]);
  });

  test.each(["1a", '"a b"', '""', `a${"b".repeat(64)}`])("may not be named %s", (name) => {
    expect(problemsIn(skill("always = true", name))).toEqual([
      `d.toml:1: skills.${name}: is no name for a skill; begin with a letter and use letters, digits, - and _ only, 64 at most`,
    ]);
  });

  test("is a table", () => {
    expect(problemsIn('skills.s = "s.md"')).toEqual([
      "d.toml:1: skills.s: is a text; write a table: [skills.s]",
    ]);
  });
});
