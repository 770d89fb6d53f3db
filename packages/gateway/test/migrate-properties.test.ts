import { validateCodexConfig } from "@deltawire/wire/codex";
import fc from "fast-check";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { parseConfig } from "../src/config/parse-config.ts";
import { formatDiff, createUnifiedDiff } from "../src/migrate/diff.ts";
import { planMigration, type MigrationPlan } from "../src/migrate/plan-migration.ts";
import { codexConfigArbitrary, secretMarker } from "./codex-configs.ts";

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
  let position = 0;
  return parts.every((part) => {
    const index = text.indexOf(part, position);
    position = index + part.length;
    return index !== -1;
  });
}

test("comments and unrelated lines of any configuration are preserved, in order", () => {
  fc.assert(
    fc.property(codexConfigArbitrary, ({ toml, unrelated, comments }) => {
      const after = plan(toml).codexText;
      expect(holdsInOrder(after, comments)).toBe(true);
      expect(after.split(/\r?\n/)).toEqual(expect.arrayContaining([...unrelated]));
      expect(holdsInOrder(after, unrelated)).toBe(true);
      expect(after.includes("\r\n")).toBe(toml.includes("\r\n"));
      expect(/(?<!\r)\n/.test(after)).toBe(/(?<!\r)\n/.test(toml));
    }),
  );
});

test("Codex and the gateway accept the files, and a second run has nothing to do", () => {
  fc.assert(
    fc.property(codexConfigArbitrary, ({ toml }) => {
      const migration = plan(toml);
      const { model_providers: providers } = validateCodexConfig(parse(migration.codexText));
      for (const { wire_api: wire } of Object.values(providers)) expect(wire).toBe("responses");
      parseConfig(migration.gatewayText ?? "", { file: "deltawire.toml", env: {} });
      const secondPlan = plan(migration.codexText, migration.gatewayText);
      expect(secondPlan).toMatchObject({
        isEmpty: true,
        codexText: migration.codexText,
        gatewayText: migration.gatewayText,
      });
    }),
  );
});

test("no secret is in deltawire.toml, a note or a diff", () => {
  fc.assert(
    fc.property(codexConfigArbitrary, ({ toml }) => {
      const migration = plan(toml);
      const shown = formatDiff(
        createUnifiedDiff({ file: "c", before: toml, after: migration.codexText }),
      );
      expect([migration.gatewayText, ...migration.notes, shown].join("\n")).not.toContain(
        secretMarker,
      );
    }),
  );
});

test("no secret of a migrated provider stays in the Codex configuration", () => {
  fc.assert(
    fc.property(codexConfigArbitrary, ({ toml }) => {
      const onlyChat = toml
        .replaceAll('wire_api = "responses"', 'wire_api = "chat"')
        .replaceAll('wire_api="responses"', 'wire_api="chat"');
      expect(plan(onlyChat).codexText).not.toContain(secretMarker);
    }),
  );
});
