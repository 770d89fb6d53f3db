import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDiff, createUnifiedDiff } from "../src/migrate/diff.ts";
import { redactToml } from "../src/migrate/redact-toml.ts";

function diff(before: string | undefined, after: string): string {
  return formatDiff(createUnifiedDiff({ file: "f.toml", before, after }));
}

describe("a diff", () => {
  test("shows removed and added lines, with three lines of context", () => {
    const before = "a=1\nb=2\nc=3\nd=4\ne=5\nf=6\ng=7\nh=8\n";
    expect(diff(before, before.replace("e=5\n", "e=6\nx=7\n"))).toBe(`--- f.toml
+++ f.toml
@@ -2,7 +2,8 @@
 b=2
 c=3
 d=4
-e=5
+e=6
+x=7
 f=6
 g=7
 h=8
`);
  });

  test("has two hunks for two distant changes", () => {
    const lines = Array.from({ length: 20 }, (_, index) => `k${index} = ${index}\n`);
    const after = lines.with(2, "k2 = 0\n").with(15, "k15 = 0\n");
    const places = diff(lines.join(""), after.join("")).match(/^@@.*@@$/gm);
    expect(places).toEqual(["@@ -1,6 +1,6 @@", "@@ -13,7 +13,7 @@"]);
  });

  test("of a new file has all lines, and of equal files none", () => {
    expect(diff(undefined, "a=1\n")).toBe("--- /dev/null\n+++ f.toml\n@@ -0,0 +1 @@\n+a=1\n");
    expect(diff("a=1\n", "a=1\n")).toBe("");
  });

  test("marks a last line without a line ending", () => {
    expect(diff("a=1", "a=1\n")).toContain("-a=1\n\\ No newline at end of file\n+a=1\n");
  });

  test("can be applied by patch", () => {
    const folder = mkdtempSync(join(tmpdir(), "deltawire-diff-"));
    const file = join(folder, "f.toml");
    const text = fc
      .array(fc.constantFrom("a=1", "# b", "", "c=2"), { maxLength: 12 })
      // Duplicate keys do not matter to a diff.
      .map((lines) => lines.map((line) => `${line}\n`).join(""));
    try {
      fc.assert(
        fc.property(text, text, (before, after) => {
          fc.pre(before !== after);
          writeFileSync(file, before);
          const input = diff(before, after);
          const { status, stdout } = spawnSync("git", ["apply", "--unidiff-zero", "-p0", "-"], {
            cwd: folder,
            input,
            encoding: "utf8",
            env: { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() },
          });
          expect([status, stdout]).toEqual([0, ""]);
          expect(readFileSync(file, "utf8")).toBe(after);
        }),
        { numRuns: 30 },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the redacted document", () => {
  test.each([
    ['experimental_bearer_token = "abc" # mine', 'experimental_bearer_token = "…" # mine'],
    ["'api_key'='abc'", "'api_key'=\"…\""],
    [
      'h = { "Authorization" = "abc", X-Title = "me" }',
      'h = { "Authorization" = "…", X-Title = "me" }',
    ],
    ['[mcp_servers.x.env]\nGITHUB_TOKEN = "abc"', '[mcp_servers.x.env]\nGITHUB_TOKEN = "…"'],
    ['args = ["--key", "sk-abc123def"]', 'args = ["--key", "…"]'],
    ['url = "https://me:pass@host/v1"', 'url = "…"'],
    ['urls = ["https://me:pass@host/v1"]', 'urls = ["https://…@host/v1"]'],
    ['env_key = "sk-abc-123456"', 'env_key = "…"'],
    ['note = "0123456789abcdef0123456789abcdef"', 'note = "…"'],
    ['# api_key = "abc"', '# api_key = "…"'],
    ['x = [1, { api_key = "abc" }]', 'x = [1, { api_key = "…" }]'],
    ["# was Bearer abc123def", "# was Bearer …"],
  ])("of %s is %s", (toml, shown) => {
    expect(redactToml(toml)).toBe(shown);
  });

  test.each([
    'env_key = "ZAI_API_KEY_FOR_THE_WHOLE_COMPANY_2"',
    'env_http_headers = { Authorization = "MY_AUTH" }',
    'bearer_token_env_var = "GITHUB_TOKEN"',
    'api_key = "env:ZAI_API_KEY"',
    'experimental_bearer_token = "local"',
    "model_auto_compact_token_limit = 200000",
    'model = "qwen3-coder-480b-a35b-instruct-fp8"',
    'base_url = "https://api.z.ai/api/coding/paas/v4"',
    'query_params = { api-version = "2025-04-01-preview" }',
    'env_key_instructions = "The key is in the vault" # a token, a basic understanding',
  ])("of %s is unchanged", (toml) => {
    expect(redactToml(toml)).toBe(toml);
  });

  test("has the same line numbers, even with a secret of several lines", () => {
    const toml = 'a = 1\ntoken = """\nab\ncd"""\nb = 2\n';
    expect(redactToml(toml)).toBe('a = 1\ntoken = "…"\n…\n…\nb = 2\n');
  });
});
