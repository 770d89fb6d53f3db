import { checkCodexConfig } from "@deltawire/wire/codex";
import fc from "fast-check";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { readConfig } from "../src/config/read.ts";
import { diffText, unifiedDiff } from "../src/migrate/diff.ts";
import { planMigration, type MigrationPlan } from "../src/migrate/plan.ts";
import { codexConfig, secretMark } from "./codex-configs.ts";

function plan(codexText: string, gatewayText?: string): MigrationPlan {
  return planMigration({
    codexText,
    codexFile: "config.toml",
    gatewayText,
    gatewayFile: "deltawire.toml",
    port: 4141,
    env: {},
  });
}

function holdsInOrder(text: string, parts: readonly string[]): boolean {
  let at = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found !== -1;
  });
}

test("whatever a configuration looks like, its comments and unrelated lines survive, in their order", () => {
  fc.assert(
    fc.property(codexConfig, ({ toml, unrelated, comments }) => {
      const after = plan(toml).codexText;
      expect(holdsInOrder(after, comments)).toBe(true);
      expect(after.split(/\r?\n/)).toEqual(expect.arrayContaining([...unrelated]));
      expect(holdsInOrder(after, unrelated)).toBe(true);
      expect(after.includes("\r\n")).toBe(toml.includes("\r\n"));
      expect(/(?<!\r)\n/.test(after)).toBe(/(?<!\r)\n/.test(toml));
    }),
  );
});

test("both files can be read by those who read them, and a second run finds nothing to do", () => {
  fc.assert(
    fc.property(codexConfig, ({ toml }) => {
      const made = plan(toml);
      const { model_providers: providers } = checkCodexConfig(parse(made.codexText));
      for (const { wire_api: wire } of Object.values(providers)) expect(wire).toBe("responses");
      readConfig(made.gatewayText ?? "", { file: "deltawire.toml", env: {} });
      const again = plan(made.codexText, made.gatewayText);
      expect(again).toMatchObject({
        nothingToDo: true,
        codexText: made.codexText,
        gatewayText: made.gatewayText,
      });
    }),
  );
});

test("no secret is written into deltawire.toml, said in a note, or shown in a diff", () => {
  fc.assert(
    fc.property(codexConfig, ({ toml }) => {
      const made = plan(toml);
      const shown = diffText(unifiedDiff({ file: "c", before: toml, after: made.codexText }));
      expect([made.gatewayText, ...made.notes, shown].join("\n")).not.toContain(secretMark);
    }),
  );
});

test("of a provider that moves no secret stays behind", () => {
  fc.assert(
    fc.property(codexConfig, ({ toml }) => {
      const onlyChat = toml
        .replaceAll('wire_api = "responses"', 'wire_api = "chat"')
        .replaceAll('wire_api="responses"', 'wire_api="chat"');
      expect(plan(onlyChat).codexText).not.toContain(secretMark);
    }),
  );
});
