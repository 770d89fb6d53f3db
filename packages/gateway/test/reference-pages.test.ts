import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { referencePages } from "../check/reference-pages.ts";

const repository = new URL("../../../", import.meta.url);
const readPage = (name: string) =>
  readFileSync(new URL(`docs/reference/${name}`, repository), "utf8");

describe("docs/reference", () => {
  test.each(Object.entries(referencePages))("%s is up to date", (name, render) => {
    expect(readPage(name), "run npm run docs:reference").toBe(render());
  });

  test("errors.md lists every error code with its status", () => {
    const source = readFileSync(
      new URL("packages/gateway/src/gateway-error.ts", repository),
      "utf8",
    );
    const [, table = ""] = /const statusByCode[^=]*= \{([^]*?)\n\};/.exec(source) ?? [];
    const statuses = [...table.matchAll(/^ {2}(\w+): (\d+),$/gm)].map(
      ([, code, status]) => `${code} ${status}`,
    );
    expect(statuses).toContain("still_running 409");
    const rows = [...readPage("errors.md").matchAll(/^\| `(\w+)` \| (\d+) \| \S/gm)].map(
      ([, code, status]) => `${code} ${status}`,
    );
    expect(rows.toSorted()).toEqual(statuses.toSorted());
  });
});
