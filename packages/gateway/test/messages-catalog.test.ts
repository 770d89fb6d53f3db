import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { sharedData } from "../../../test/shared-data.ts";
import { runMessagesCatalog } from "../check/messages-catalog.ts";

const catalog = sharedData("messages/quirks.json");
const chatCatalog = sharedData("quirks/quirks.json");

test.skipIf(catalog.isMissing)(
  "every case of the shared Messages catalog passes through the gateway, for every client and upstream",
  { timeout: 240_000 },
  async () => {
    const rows = await runMessagesCatalog({
      folder: dirname(catalog.path),
      ...(existsSync(chatCatalog.path) ? { chatCatalog: chatCatalog.path } : {}),
    });
    const failed = rows.filter(({ ok, optional }) => !ok && !optional);
    expect(failed.map(({ id, way, fails }) => [id, way, ...fails])).toEqual([]);
    expect(rows.length).toBeGreaterThan(200);
  },
);
