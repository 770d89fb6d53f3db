import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runMessagesQuirks, type MessagesCase } from "../check/messages-quirks.ts";
import { sharedData } from "../../../test/shared-data.ts";

const catalog = sharedData("messages/quirks.json");

test.skipIf(catalog.isMissing)(
  "every case of the shared Messages catalog passes for every kind of client",
  { timeout: 120_000 },
  async () => {
    const { cases } = JSON.parse(readFileSync(catalog.path, "utf8")) as { cases: MessagesCase[] };
    const options = { file: catalog.path, cases, passesMessages: true };
    const rows = await runMessagesQuirks({ ...options, isSplit: true });
    const failed = rows.filter(({ ok, optional }) => !ok && !optional);
    expect(failed.map(({ id, way, fails }) => [id, way, ...fails])).toEqual([]);
    expect(rows.length).toBeGreaterThan(cases.length);
  },
);
