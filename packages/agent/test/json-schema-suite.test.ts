import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { validateJsonSchema } from "../src/schemas/validate-json-schema.ts";

/**
 * Path of a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite, which is not published as a package. Our own
 * tests are in `validate-json-schema.test.ts`.
 */
const suite = process.env["JSON_SCHEMA_TEST_SUITE"] ?? "";

interface Group {
  description: string;
  schema: JsonObject | boolean;
  tests: { description: string; data: unknown; valid: boolean }[];
}

/** Tests that refer to other documents, which are not fetched. */
const remoteReferenceTests = new Set([
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

describe.skipIf(!existsSync(suite))("the official test suite of JSON Schema", () => {
  test.each([
    ["draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1200],
    ["draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1150],
    ["draft7", "http://json-schema.org/draft-07/schema#", 880],
  ])("passes for %s", (draft, $schema, minCount) => {
    const folder = join(suite, "tests", draft);
    const failures: string[] = [];
    let count = 0;
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
      if (file === "refRemote.json") continue;
      const groups = JSON.parse(readFileSync(join(folder, file), "utf8")) as Group[];
      for (const { description, schema, tests } of groups) {
        const name = `${file.replace(".json", "")}: ${description}`;
        if (typeof schema === "boolean" || remoteReferenceTests.has(name)) continue;
        for (const { description: testName, data, valid } of tests) {
          count += 1;
          const problems = validateJsonSchema({ $schema, ...schema }, data);
          if ((problems.length === 0) !== valid) failures.push(`${name}, ${testName}`);
        }
      }
    }
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(minCount);
  });
});
