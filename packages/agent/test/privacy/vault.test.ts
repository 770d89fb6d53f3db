import { privacyRule, Vault } from "@deltawire/agent";
import type { PrivacyField } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";
import { everyKind, formsOf, newVault, privateText, tag, values } from "./private-texts.ts";
import { statefulPattern, statefulText } from "./stateful-pattern.ts";

describe("for every text", () => {
  test("what is masked and unmasked is the same text", () => {
    fc.assert(
      fc.property(privateText, (text) => {
        const vault = newVault();
        expect(vault.unmask(vault.mask(text))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  test("a masked text is masked no further, also after a restart", () => {
    fc.assert(
      fc.property(privateText, (text) => {
        const vault = newVault();
        const masked = vault.mask(text);
        expect(vault.mask(masked)).toBe(masked);
        const later = newVault(everyKind, vault.takeFresh());
        expect(later.mask(masked)).toBe(masked);
        expect(later.unmask(masked)).toBe(text);
        expect(later.takeFresh()).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("no value that is known is left in it, in whatever form", () => {
    fc.assert(
      fc.property(privateText, (text) => {
        const vault = newVault();
        vault.mask(values.join("\n"));
        const masked = vault.mask(text).replaceAll(/\{\{[A-Z]+_\d+_x7f3\}\}/g, "\n");
        for (const value of values)
          for (const form of formsOf(value)) expect(masked).not.toContain(form);
      }),
      { numRuns: 300 },
    );
  });

  test("JSON stays JSON and means the same when the values are in it again", () => {
    fc.assert(
      fc.property(
        fc.jsonValue().map((value) => value as object | string | null),
        fc.array(fc.tuple(privateText, privateText), { maxLength: 4 }),
        (other, entries) => {
          const vault = newVault();
          const json = JSON.stringify({ ...Object.fromEntries(entries), other: "no number" });
          const masked = vault.maskJson(json);
          expect(JSON.parse(vault.unmaskJson(masked))).toEqual(JSON.parse(json));
          expect(vault.maskJson(masked)).toBe(masked);
          expect(() => void JSON.parse(vault.maskJson(JSON.stringify([other])))).not.toThrow();
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("a placeholder", () => {
  test("is the same for the same value, and another for another spelling", () => {
    const vault = newVault();
    expect(vault.mask("ada@example.com, Ada@example.com, ada@example.com")).toBe(
      "{{EMAIL_1_x7f3}}, {{EMAIL_2_x7f3}}, {{EMAIL_1_x7f3}}",
    );
    expect(vault.mask("mail ada@example.com")).toBe("mail {{EMAIL_1_x7f3}}");
  });

  test("goes on after those that are known, with their tag", () => {
    const known = [
      { placeholder: "{{EMAIL_7_ab12}}", value: "ada@example.com", kind: "email" },
      { placeholder: "{{EMAIL_3_ab12}}", value: "old@example.com", kind: "email" },
    ];
    const vault = new Vault({ fields: [{ kind: "email" }], known, tag });
    expect(vault.tag).toBe("ab12");
    expect(vault.mask("ada@example.com new@example.com")).toBe("{{EMAIL_7_ab12}} {{EMAIL_8_ab12}}");
    expect(vault.takeFresh()).toEqual([
      { placeholder: "{{EMAIL_8_ab12}}", value: "new@example.com", kind: "email" },
    ]);
    expect(vault.takeFresh()).toEqual([]);
  });

  test.each([
    ["{{EMAIL_1_x7f3}}", "ada@example.com"],
    ["{{ EMAIL_1_x7f3 }}", "ada@example.com"],
    ["{{email_1_X7F3}}", "ada@example.com"],
    ["{{EMAIL\\_1\\_x7f3}}", "ada@example.com"],
    ["{{{EMAIL_1_x7f3}}}", "{ada@example.com}"],
    ["?to=%7B%7BEMAIL_1_x7f3%7D%7D&x", "?to=ada%40example.com&x"],
    ["{{EMAIL_2_x7f3}}", "{{EMAIL_2_x7f3}}"],
    ["{{EMAIL_1_zzzz}}", "{{EMAIL_1_zzzz}}"],
    ["{{EMAIL_1}}", "{{EMAIL_1}}"],
    ["{{var:EMAIL_1_x7f3}}", "{{var:EMAIL_1_x7f3}}"],
  ])("that a model writes as %s reads %s", (written, read) => {
    const vault = newVault();
    vault.mask("ada@example.com");
    expect(vault.unmask(written)).toBe(read);
  });

  test("is never itself taken for something private", () => {
    const fields = [
      { kind: "email" },
      { kind: "text", value: "EMAIL" },
      { kind: "text", value: tag },
      { kind: "pattern", pattern: "[A-Z]+_\\d+" },
      { kind: "pattern", pattern: "\\S+@?\\S+", label: "word" },
    ] as const;
    const vault = newVault(fields);
    const masked = vault.mask("ada@example.com and EMAIL_1");
    expect(vault.mask(masked)).toBe(masked);
    expect(vault.unmask(masked)).toBe("ada@example.com and EMAIL_1");
    expect(vault.mask(privacyRule(vault).replaceAll(/[^{}A-Z0-9_a-z]/g, ""))).toContain(
      "{{EMAIL_0_x7f3}}",
    );
  });
});

test("a value that holds another, and two that overlap, are one", () => {
  const fields = [
    { kind: "name", value: "Ada" },
    { kind: "email" },
    { kind: "text", value: "red green" },
    { kind: "text", value: "green blue" },
  ] as const;
  const vault = newVault(fields);
  expect(vault.mask("ada@example.com")).toBe("{{EMAIL_1_x7f3}}");
  expect(vault.mask("red green blue")).toBe("{{TEXT_1_x7f3}}");
  expect(vault.mask("Ada, green blue")).toBe("{{NAME_1_x7f3}}, {{TEXT_2_x7f3}}");
});

test("a name of one word is one at the edges of words only, a text everywhere, both in any case", () => {
  const vault = newVault([
    { kind: "name", value: "Mark Twain" },
    { kind: "name", value: "Mark" },
    { kind: "text", value: "zeus" },
  ]);
  const seen = (text: string) => vault.mask(text).replaceAll(/\{\{([A-Z]+)_\d+_x7f3\}\}/g, "<$1>");
  expect(seen("MARK, mark's market, remark, MarkSmith, mark_2")).toBe(
    "<NAME>, <NAME>'s market, remark, <NAME>Smith, <NAME>_2",
  );
  expect(seen("mark  twain MARK_TWAIN mark.twain Mark%20Twain MarkTwain")).toBe(
    "<NAME> <NAME> <NAME> <NAME> <NAME>",
  );
  expect(seen("ZeusZEUS prozeus")).toBe("<TEXT><TEXT> pro<TEXT>");
});

test("a name is found with letters behind it, and in no other word", () => {
  const vault = newVault([
    { kind: "name", value: "Ada Lovelace" },
    { kind: "name", value: "Mark" },
    { kind: "name", value: "Ada" },
    { kind: "name", value: "Li Na" },
    { kind: "name", value: "Иван" },
  ]);
  const seen = (text: string) => vault.mask(text).replaceAll(/\{\{NAME_\d+_x7f3\}\}/g, "<>");
  expect(seen("Ada Lovelaces Geburtstag, xada lovelacean, MrAda Lovelace")).toBe(
    "<>s Geburtstag, x<>an, Mr<>",
  );
  expect(seen("Marks, Marke, Markes; Иваном; Adas")).toBe("<>s, <>e, <>es; <>ом; <>s");
  const others = "market, Markets, Marketing, remarks, adas, Adam, Carolina, Lithium Nah";
  expect(seen(others)).toBe(others);
});

test("a word that a model writes onto a value is private with it, also after a restart", () => {
  const fields = [
    { kind: "name", value: "Mark" },
    { kind: "password" },
    { kind: "text", value: "blue falcon" },
  ] as const;
  const vault = newVault(fields);
  vault.mask("Mark, password: tiger, blue falcon");
  const [name, password, text] = ["{{NAME_1_x7f3}}", "{{PASSWORD_1_x7f3}}", "{{TEXT_1_x7f3}}"];
  const said = vault.unmask(`${name}ification, x${password}s, ${password}${password}, ${text}ry`);
  expect(said).toBe("Markification, xtigers, tigertiger, blue falconry");
  const call = vault.unmaskJson(`{"a":"one\\n${name}land"}`);
  expect(JSON.parse(call)).toEqual({ a: "one\nMarkland" });
  for (const one of [vault, newVault(fields, vault.takeFresh())]) {
    expect(one.mask(said)).toBe(
      "{{NAME_2_x7f3}}, {{PASSWORD_2_x7f3}}, {{PASSWORD_3_x7f3}}, {{TEXT_1_x7f3}}ry",
    );
    expect(one.maskJson(call)).toBe('{"a":"one\\n{{NAME_3_x7f3}}"}');
    // Learned by its word: no other word is private.
    const others = "the market, Markifications, tigress, xtiger, Marklands";
    expect(one.mask(others)).toBe(others);
  }
});

test("a value that was found by what stands around it is found as a word from then on", () => {
  const fields = [
    { kind: "password" },
    { kind: "pattern", pattern: "(?<=code )[a-z]+", label: "code" },
  ] as const;
  const vault = newVault(fields);
  vault.mask("password: tiger, code otter");
  const kept = vault.takeFresh();
  for (const one of [vault, newVault(fields, kept)])
    expect(one.mask("Log in with tiger, type otter; tigers, botter")).toBe(
      "Log in with {{PASSWORD_1_x7f3}}, type {{CODE_1_x7f3}}; tigers, botter",
    );
  // What is no longer looked for is no word either.
  expect(newVault([{ kind: "email" }], kept).mask("tiger")).toBe("tiger");
});

test("a text is found as forms and addresses write it", () => {
  const vault = newVault([{ kind: "text", value: 'R&D "Falcon"' }, { kind: "card" }]);
  for (const text of ["q=R%26D+%22Falcon%22", 'R&D+"Falcon"', "R%26D%20%22Falcon%22"])
    expect(vault.mask(`https://x.test/?${text}`)).toMatch(/\?(?:q=)?\{\{TEXT_\d_x7f3\}\}$/);
  vault.mask("4111 1111 1111 1111");
  expect(vault.mask("c=4111+1111+1111+1111")).toBe("c={{CARD_2_x7f3}}");
});

test("a value with a number is found however its digits are grouped", () => {
  const vault = newVault([{ kind: "phone", value: "0151 234 567-89" }]);
  expect(vault.mask("015123456789 (0151) 23456789 13812345678")).toBe(
    "{{PHONE_1_x7f3}} ({{PHONE_2_x7f3}} 13812345678",
  );
});

test("a value that was found once is found where nothing tells what it is", () => {
  const vault = newVault([{ kind: "password" }, { kind: "phone" }]);
  expect(vault.mask("xx9s3cret-word9xx; password: s3cret-word")).toBe(
    "xx9{{PASSWORD_1_x7f3}}9xx; password: {{PASSWORD_1_x7f3}}",
  );
  expect(vault.mask("id313812345678 13812345678")).toBe("id3{{PHONE_1_x7f3}} {{PHONE_1_x7f3}}");
});

test("what is no longer in the settings is masked no more, and still read", () => {
  const known = [
    { placeholder: "{{EMAIL_1_x7f3}}", value: "ada@example.com", kind: "email" },
    { placeholder: "{{NAME_1_x7f3}}", value: "Ada", kind: "name" },
  ];
  const vault = newVault([{ kind: "phone" }], known);
  expect(vault.mask("Ada ada@example.com")).toBe("Ada ada@example.com");
  expect(vault.unmask("{{NAME_1_x7f3}} {{EMAIL_1_x7f3}}")).toBe("Ada ada@example.com");
});

test("values in JSON are those that its strings mean", () => {
  const vault = newVault();
  const json =
    '{"password":"a\\"b\\\\c 12","n":13812345678,"big":12345678901234567890.0,"t":"x\\nada@example.com \\u5f20\\u4e09"}';
  const masked = vault.maskJson(json);
  expect(masked).toBe(
    '{"password":"{{PASSWORD_1_x7f3}}","n":"{{PHONE_1_x7f3}}","big":12345678901234567890.0,"t":"x\\n{{EMAIL_1_x7f3}} {{NAME_1_x7f3}}"}',
  );
  expect(vault.unmask("{{PASSWORD_1_x7f3}} {{NAME_1_x7f3}}")).toBe('a"b\\c 12 张三');
  expect(vault.unmaskJson('"{{PASSWORD_1_x7f3}}"')).toBe('"a\\"b\\\\c 12"');
});

test("fields with faults, and a tag that is none, are refused", () => {
  expect(() => newVault([{ kind: "name" }])).toThrow(
    expect.objectContaining({ code: "bad_fields", message: "[0].value: is missing" }),
  );
  expect(() => new Vault({ fields: [], known: [], tag: "X" })).toThrow(TypeError);
});

test("a pattern that turns out too complex ends with an error, not with a process that hangs", () => {
  const vault = newVault([
    { kind: "email" },
    { kind: "pattern", pattern: "PRJ-4711", label: "project" },
    { kind: "pattern", pattern: statefulPattern, label: "badge" },
    { kind: "pattern", pattern: "HR-\\d{4}" },
  ]);
  let failure: unknown;
  const took = workTime(() => {
    try {
      vault.mask(statefulText);
    } catch (error) {
      failure = error;
    }
  });
  // It names the field, but not the pattern: that may contain the very value.
  expect(failure).toMatchObject({
    code: "pattern_too_slow",
    message: expect.stringMatching(/^[^!]*simplify the pattern of privacy\.fields\[2\], BADGE$/),
  });
  expect(took).toBeLessThan(1000);
});

test("a text is too long for many patterns together, not for those that begin with other characters", () => {
  const fields = (start: string): PrivacyField[] =>
    Array.from({ length: 20 }, (_, at) => ({ kind: "pattern", pattern: `${start}\\d+x${at}` }));
  const text = "a1 ".repeat(200_000);
  expect(newVault(fields("PRJ-")).mask(text)).toBe(text);
  expect(() => newVault(fields("\\w")).mask(text)).toThrow(
    expect.objectContaining({
      code: "pattern_too_slow",
      message: expect.stringContaining("for 20 patterns; send it in parts"),
    }),
  );
});

test("fresh placeholders are kept one after the other, and again where keeping failed", async () => {
  const vault = newVault();
  const kept: string[][] = [];
  vault.mask("ada@example.com");
  const failing = vault.keepFresh(() => Promise.reject(new Error("full")));
  const working = vault.keepFresh((fresh) => {
    kept.push(fresh.map(({ value }) => value));
    return Promise.resolve();
  });
  await expect(failing).rejects.toThrow("full");
  await working;
  expect(kept).toEqual([["ada@example.com"]]);
});

test("1 MB with 20 fields takes well under a second", () => {
  const names = Array.from({ length: 9 }, (_, at) => ({
    kind: "name" as const,
    value: `Person Number${at}`,
  }));
  const vault = newVault([...everyKind, ...names]);
  const line = "Words, 100% of them, in C:\\new\\ and 42 numbers; see a.b for more.\n";
  const text = `${line.repeat(100)}${values.join("\n")}\n`.repeat(Math.ceil(1e6 / 7000));
  let masked = "";
  expect(workTime(() => (masked = vault.mask(text)))).toBeLessThan(900);
  expect(masked).not.toContain(values[0]);
  expect(vault.unmask(masked)).toBe(text);
});
