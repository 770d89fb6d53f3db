import { buildPrivacyRule, Vault } from "@deltawire/agent";
import type { PrivacyField } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import {
  everyKind,
  listEncodings,
  newPlaceholderStore,
  newVault,
  privateText,
  tag,
  values,
} from "./private-texts.ts";
import { statefulPattern, statefulText } from "./stateful-pattern.ts";

describe("for every text", () => {
  test("unmasking a masked text restores it exactly", () => {
    fc.assert(
      fc.property(privateText, (text) => {
        const vault = newVault();
        expect(vault.unmask(vault.mask(text))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  test("masking masked text changes nothing, even after a restart", () => {
    fc.assert(
      fc.property(privateText, (text) => {
        const vault = newVault();
        const masked = vault.mask(text);
        expect(vault.mask(masked)).toBe(masked);
        const later = newVault(everyKind, vault.takeNewPlaceholders());
        expect(later.mask(masked)).toBe(masked);
        expect(later.unmask(masked)).toBe(text);
        expect(later.takeNewPlaceholders()).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("masking leaves no known value, in any encoding", () => {
    fc.assert(
      fc.property(privateText, (text) => {
        const vault = newVault();
        vault.mask(values.join("\n"));
        const masked = vault.mask(text).replaceAll(/\{\{[A-Z]+_\d+_x7f3\}\}/g, "\n");
        for (const value of values)
          for (const form of listEncodings(value)) expect(masked).not.toContain(form);
      }),
      { numRuns: 300 },
    );
  });

  test("masked JSON is valid JSON, and unmasking restores its value", () => {
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
  test("is the same for the same value, and different for another spelling", () => {
    const vault = newVault();
    expect(vault.mask("ada@example.com, Ada@example.com, ada@example.com")).toBe(
      "{{EMAIL_1_x7f3}}, {{EMAIL_2_x7f3}}, {{EMAIL_1_x7f3}}",
    );
    expect(vault.mask("mail ada@example.com")).toBe("mail {{EMAIL_1_x7f3}}");
  });

  test("is numbered after known ones, with their tag", () => {
    const known = [
      { placeholder: "{{EMAIL_7_ab12}}", value: "ada@example.com", kind: "email" },
      { placeholder: "{{EMAIL_3_ab12}}", value: "old@example.com", kind: "email" },
    ];
    const vault = new Vault({ fields: [{ kind: "email" }], known, tag });
    expect(vault.tag).toBe("ab12");
    expect(vault.mask("ada@example.com new@example.com")).toBe("{{EMAIL_7_ab12}} {{EMAIL_8_ab12}}");
    expect(vault.takeNewPlaceholders()).toEqual([
      { placeholder: "{{EMAIL_8_ab12}}", value: "new@example.com", kind: "email" },
    ]);
    expect(vault.takeNewPlaceholders()).toEqual([]);
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
  ])("written by a model as %s is unmasked to %s", (written, expected) => {
    const vault = newVault();
    vault.mask("ada@example.com");
    expect(vault.unmask(written)).toBe(expected);
  });

  test("is never masked itself", () => {
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
    expect(vault.mask(buildPrivacyRule(vault).replaceAll(/[^{}A-Z0-9_a-z]/g, ""))).toContain(
      "{{EMAIL_0_x7f3}}",
    );
  });
});

test("a value that contains another one gets one placeholder, and so do two that overlap", () => {
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

test("a one-word name matches only complete words, a field of type text matches anywhere; both ignore case", () => {
  const vault = newVault([
    { kind: "name", value: "Mark Twain" },
    { kind: "name", value: "Mark" },
    { kind: "text", value: "zeus" },
  ]);
  const maskKinds = (text: string) =>
    vault.mask(text).replaceAll(/\{\{([A-Z]+)_\d+_x7f3\}\}/g, "<$1>");
  expect(maskKinds("MARK, mark's market, remark, MarkSmith, mark_2")).toBe(
    "<NAME>, <NAME>'s market, remark, <NAME>Smith, <NAME>_2",
  );
  expect(maskKinds("mark  twain MARK_TWAIN mark.twain Mark%20Twain MarkTwain")).toBe(
    "<NAME> <NAME> <NAME> <NAME> <NAME>",
  );
  expect(maskKinds("ZeusZEUS prozeus")).toBe("<TEXT><TEXT> pro<TEXT>");
});

test("a name is found with an inflectional ending, but not inside other words", () => {
  const vault = newVault([
    { kind: "name", value: "Ada Lovelace" },
    { kind: "name", value: "Mark" },
    { kind: "name", value: "Ada" },
    { kind: "name", value: "Li Na" },
    { kind: "name", value: "Иван" },
  ]);
  const maskNames = (text: string) => vault.mask(text).replaceAll(/\{\{NAME_\d+_x7f3\}\}/g, "<>");
  expect(maskNames("Ada Lovelaces Geburtstag, xada lovelacean, MrAda Lovelace")).toBe(
    "<>s Geburtstag, x<>an, Mr<>",
  );
  expect(maskNames("Marks, Marke, Markes; Иваном; Adas")).toBe("<>s, <>e, <>es; <>ом; <>s");
  const others = "market, Markets, Marketing, remarks, adas, Adam, Carolina, Lithium Nah";
  expect(maskNames(others)).toBe(others);
});

test("a value to which the model attached letters is masked, even after a restart", () => {
  const fields = [
    { kind: "name", value: "Mark" },
    { kind: "password" },
    { kind: "text", value: "blue falcon" },
  ] as const;
  const vault = newVault(fields);
  vault.mask("Mark, password: tiger, blue falcon");
  const [name, password, text] = ["{{NAME_1_x7f3}}", "{{PASSWORD_1_x7f3}}", "{{TEXT_1_x7f3}}"];
  const reply = vault.unmask(`${name}ification, x${password}s, ${password}${password}, ${text}ry`);
  expect(reply).toBe("Markification, xtigers, tigertiger, blue falconry");
  const call = vault.unmaskJson(`{"a":"one\\n${name}land"}`);
  expect(JSON.parse(call)).toEqual({ a: "one\nMarkland" });
  for (const current of [vault, newVault(fields, vault.takeNewPlaceholders())]) {
    expect(current.mask(reply)).toBe(
      "{{NAME_2_x7f3}}, {{PASSWORD_2_x7f3}}, {{PASSWORD_3_x7f3}}, {{TEXT_1_x7f3}}ry",
    );
    expect(current.maskJson(call)).toBe('{"a":"one\\n{{NAME_3_x7f3}}"}');
    // Only the exact word was learned.
    const others = "the market, Markifications, tigress, xtiger, Marklands";
    expect(current.mask(others)).toBe(others);
  }
});

test("a value that was found by its context is later found as a word without that context", () => {
  const fields = [
    { kind: "password" },
    { kind: "pattern", pattern: "(?<=code )[a-z]+", label: "code" },
  ] as const;
  const vault = newVault(fields);
  vault.mask("password: tiger, code otter");
  const stored = vault.takeNewPlaceholders();
  for (const current of [vault, newVault(fields, stored)])
    expect(current.mask("Log in with tiger, type otter; tigers, botter")).toBe(
      "Log in with {{PASSWORD_1_x7f3}}, type {{CODE_1_x7f3}}; tigers, botter",
    );
  // Known values of kinds that are no longer configured are not masked.
  expect(newVault([{ kind: "email" }], stored).mask("tiger")).toBe("tiger");
});

test("text is found in form encoding and in percent encoding", () => {
  const vault = newVault([{ kind: "text", value: 'R&D "Falcon"' }, { kind: "card" }]);
  for (const text of ["q=R%26D+%22Falcon%22", 'R&D+"Falcon"', "R%26D%20%22Falcon%22"])
    expect(vault.mask(`https://x.test/?${text}`)).toMatch(/\?(?:q=)?\{\{TEXT_\d_x7f3\}\}$/);
  vault.mask("4111 1111 1111 1111");
  expect(vault.mask("c=4111+1111+1111+1111")).toBe("c={{CARD_2_x7f3}}");
});

test("a number is found however its digits are grouped", () => {
  const vault = newVault([{ kind: "phone", value: "0151 234 567-89" }]);
  expect(vault.mask("015123456789 (0151) 23456789 13812345678")).toBe(
    "{{PHONE_1_x7f3}} ({{PHONE_2_x7f3}} 13812345678",
  );
});

test("a password or number that was found once is also found inside other words", () => {
  const vault = newVault([{ kind: "password" }, { kind: "phone" }]);
  expect(vault.mask("xx9s3cret-word9xx; password: s3cret-word")).toBe(
    "xx9{{PASSWORD_1_x7f3}}9xx; password: {{PASSWORD_1_x7f3}}",
  );
  expect(vault.mask("id313812345678 13812345678")).toBe("id3{{PHONE_1_x7f3}} {{PHONE_1_x7f3}}");
});

test("values of fields removed from the settings are no longer masked, but still unmasked", () => {
  const known = [
    { placeholder: "{{EMAIL_1_x7f3}}", value: "ada@example.com", kind: "email" },
    { placeholder: "{{NAME_1_x7f3}}", value: "Ada", kind: "name" },
  ];
  const vault = newVault([{ kind: "phone" }], known);
  expect(vault.mask("Ada ada@example.com")).toBe("Ada ada@example.com");
  expect(vault.unmask("{{NAME_1_x7f3}} {{EMAIL_1_x7f3}}")).toBe("Ada ada@example.com");
});

test("values in JSON are found in the decoded strings", () => {
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

test("invalid fields and an invalid tag are rejected", () => {
  expect(() => newVault([{ kind: "name" }])).toThrow(
    expect.objectContaining({ code: "bad_fields", message: "[0].value: is required" }),
  );
  expect(() => new Vault({ fields: [], known: [], tag: "X" })).toThrow(TypeError);
});

test("a pattern that is too complex throws instead of blocking the process", () => {
  const vault = newVault([
    { kind: "email" },
    { kind: "pattern", pattern: "PRJ-4711", label: "project" },
    { kind: "pattern", pattern: statefulPattern, label: "badge" },
    { kind: "pattern", pattern: "HR-\\d{4}" },
  ]);
  let failure: unknown;
  const elapsedMs = measureCpuTime(() => {
    try {
      vault.mask(statefulText);
    } catch (error) {
      failure = error;
    }
  });
  // The message names the field, not the pattern, which may contain the value itself.
  expect(failure).toMatchObject({
    code: "pattern_too_slow",
    message: expect.stringMatching(/^[^!]*simplify the pattern of privacy\.fields\[2\], BADGE$/),
  });
  expect(elapsedMs).toBeLessThan(1000);
});

test("a long text with many patterns is rejected, unless it contains none of their fixed prefixes", () => {
  const fields = (start: string): PrivacyField[] =>
    Array.from({ length: 20 }, (_, index) => ({
      kind: "pattern",
      pattern: `${start}\\d+x${index}`,
    }));
  const text = "a1 ".repeat(200_000);
  expect(newVault(fields("PRJ-")).mask(text)).toBe(text);
  expect(() => newVault(fields("\\w")).mask(text)).toThrow(
    expect.objectContaining({
      code: "pattern_too_slow",
      message: expect.stringContaining("for 20 patterns; split the text"),
    }),
  );
});

test("placeholders that could not be stored are stored with the next call", async () => {
  const vault = newVault();
  const stored: string[][] = [];
  vault.mask("ada@example.com");
  const failing = vault.storeNewPlaceholders(
    newPlaceholderStore(() => Promise.reject(new Error("full"))),
  );
  const working = vault.storeNewPlaceholders(
    newPlaceholderStore(async (added) => void stored.push(added.map(({ value }) => value))),
  );
  await expect(failing).rejects.toThrow("full");
  await working;
  expect(stored).toEqual([["ada@example.com"]]);
});

test("masking 1 MB with 20 fields takes less than a second", () => {
  const names = Array.from({ length: 9 }, (_, index) => ({
    kind: "name" as const,
    value: `Person Number${index}`,
  }));
  const vault = newVault([...everyKind, ...names]);
  const line = "Words, 100% of them, in C:\\new\\ and 42 numbers; see a.b for more.\n";
  const text = `${line.repeat(100)}${values.join("\n")}\n`.repeat(Math.ceil(1e6 / 7000));
  let masked = "";
  expect(measureCpuTime(() => (masked = vault.mask(text)))).toBeLessThan(900);
  expect(masked).not.toContain(values[0]);
  expect(vault.unmask(masked)).toBe(text);
});
