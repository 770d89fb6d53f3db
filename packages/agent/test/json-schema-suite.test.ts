import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { problemsByJsonSchema } from "../src/schemas/json-schema.ts";

/**
 * A checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite, named by an environment variable: it is not published
 * as a package. Its tests in `json-schema.test.ts` are of our own.
 */
const suite = process.env["JSON_SCHEMA_TEST_SUITE"] ?? "";

interface Group {
  description: string;
  schema: JsonObject | boolean;
  tests: { description: string; data: unknown; valid: boolean }[];
}

/** Refer to documents that are not part of the schema, which are not fetched. */
const ofOtherDocuments = new Set([
  "defs: validate definition against metaschema",
  "definitions: validate definition against metaschema",
  "ref: remote ref, containing refs itself",
  "dynamicRef: strict-tree schema, guards against misspelled properties",
  "dynamicRef: tests for implementation dynamic anchor and reference link",
  "dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first",
  "dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first",
  "dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor",
  "vocabulary: schema that uses custom metaschema with with no validation vocabulary",
]);

describe.skipIf(!existsSync(suite))("the official test suite", () => {
  test.each([
    ["draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1200],
    ["draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1150],
    ["draft7", "http://json-schema.org/draft-07/schema#", 880],
  ])("%s", (draft, $schema, atLeast) => {
    const folder = join(suite, "tests", draft);
    const wrong: string[] = [];
    let count = 0;
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
      if (file === "refRemote.json") continue;
      const groups = JSON.parse(readFileSync(join(folder, file), "utf8")) as Group[];
      for (const { description, schema, tests } of groups) {
        const name = `${file.replace(".json", "")}: ${description}`;
        if (typeof schema === "boolean" || ofOtherDocuments.has(name)) continue;
        for (const { description: what, data, valid } of tests) {
          count += 1;
          const problems = problemsByJsonSchema({ $schema, ...schema }, data);
          if ((problems.length === 0) !== valid) wrong.push(`${name}, ${what}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(atLeast);
  });
});
