import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf } from "./imports-of.ts";
import { exportsOf } from "./named-exports.ts";
import { readJson, type RepositoryFile, repositoryFiles, root } from "./repository-files.ts";

/**
 * `entries` are the ways in beside the package's index; `testsMay` is what its tests and benchmarks may import beside what
 * its source may.
 */
type Rule = {
  name: string;
  may: string[];
  testsMay?: string[];
  mayUseTypesOf?: string[];
  pure?: true;
  /** What a pure package may import beside its own files: libraries that are pure themselves. */
  libraries?: string[];
  entries?: string[];
};
type Manifest = { name: string; version: string; exports?: object } & Partial<
  Record<DependencyField, object>
>;
type DependencyField = (typeof dependencyFields)[number];

const dependencyFields = ["dependencies", "peerDependencies", "optionalDependencies"] as const;

/** Which package may import which; the folder in packages/ is the key. */
const architecture: Record<string, Rule> = {
  wire: { name: "@deltawire/wire", may: [], pure: true, entries: ["codex"] },
  tasks: {
    name: "@deltawire/tasks",
    may: [],
    pure: true,
    libraries: ["valibot"],
    entries: ["chats", "markdown"],
  },
  agent: {
    name: "@deltawire/agent",
    may: ["@deltawire/wire", "@deltawire/tasks"],
    // Chats are tested on a real store.
    testsMay: ["@deltawire/store"],
  },
  store: {
    name: "@deltawire/store",
    may: ["@deltawire/tasks"],
    mayUseTypesOf: ["@deltawire/wire"],
    entries: ["contract"],
  },
  demo: {
    name: "@deltawire/demo",
    may: ["@deltawire/wire", "@deltawire/tasks", "@deltawire/agent"],
  },
  gateway: {
    name: "deltawire",
    may: [
      "@deltawire/wire",
      "@deltawire/tasks",
      "@deltawire/agent",
      "@deltawire/store",
      "@deltawire/demo",
    ],
  },
  web: {
    name: "@deltawire/web",
    may: ["@deltawire/tasks"],
    // Its tests in a browser start a gateway.
    testsMay: ["deltawire", "@deltawire/agent", "@deltawire/demo"],
  },
};

const packages = [
  ...new Set(repositoryFiles(/^packages\//, "packages").map(({ path }) => folderOf(path))),
];
const pureTsconfigs = packages.filter((folder) => architecture[folder]?.pure);

describe("the tree", () => {
  test("imports only what the table allows", () => {
    expect(forbiddenImports(repositoryFiles(/\.[cm]?tsx?$/))).toEqual([]);
  });

  test("has only packages that the table names, under the table's names and one version", () => {
    const { version } = readJson<Manifest>("package.json");
    for (const folder of packages) {
      const manifest = readJson<Manifest>(`packages/${folder}/package.json`);
      expect(manifest).toMatchObject({ name: architecture[folder]?.name, version });
    }
  });

  test("opens its packages only where the table says", () => {
    for (const folder of packages) {
      const { exports = {} } = readJson<Manifest>(`packages/${folder}/package.json`);
      const entries = architecture[folder]?.entries ?? [];
      expect(Object.keys(exports)).toEqual([".", ...entries.map((entry) => `./${entry}`)]);
    }
  });

  test("declares only the dependencies that the table allows", () => {
    for (const folder of packages) {
      const manifest = readJson<Manifest>(`packages/${folder}/package.json`);
      expect(forbiddenDependencies(folder, manifest)).toEqual([]);
    }
  });
});

test("tests of the agent import by its public entry what that exports", () => {
  const publicNames = exportsOf(readFileSync(join(root, "packages/agent/src/index.ts"), "utf8"));
  const tests = repositoryFiles(/\.ts$/, "packages/agent/test");
  expect(importsPastEntry(tests, publicNames)).toEqual([]);
  const text = `import { a, type B } from "../src/a.ts";\nimport { c } from "@deltawire/agent";`;
  expect(importsPastEntry([{ path: "a.test.ts", text }], ["B", "c"])).toEqual(["a.test.ts: B"]);
});

describe("the import checker finds", () => {
  const cases: [what: string, path: string, text: string][] = [
    [
      "an import against the arrows",
      "packages/wire/src/a.ts",
      `import { a } from "@deltawire/tasks";`,
    ],
    [
      "an import of types against the arrows",
      "packages/web/src/a.ts",
      `import type { A } from "@deltawire/wire";`,
    ],
    [
      "a value where only types are allowed",
      "packages/store/src/a.ts",
      `import { type A } from "@deltawire/wire";`,
    ],
    ["a dynamic import", "packages/tasks/src/a.ts", `const a = await import("@deltawire/wire");`],
    ["a side-effect import", "packages/tasks/src/a.ts", `import "@deltawire/wire";`],
    ["a re-export", "packages/tasks/src/a.ts", `export {\n  a,\n  b,\n} from "@deltawire/wire";`],
    ["Node in a pure package", "packages/wire/src/a.ts", `import { readFileSync } from "node:fs";`],
    ["a library in a pure package", "packages/wire/src/a.ts", `import { z } from "zod";`],
    ["another library in a pure package", "packages/tasks/src/a.ts", `import { z } from "zod";`],
    [
      "the rules of tests in a source",
      "packages/wire/src/a.ts",
      `import { workTime } from "../../../test/work-time.ts";`,
    ],
    [
      "what only tests may import in a source",
      "packages/web/src/a.ts",
      `import { startGateway } from "deltawire";`,
    ],
    [
      "a deep import",
      "packages/agent/src/a.ts",
      `import { a } from "@deltawire/wire/src/sse/decoder.ts";`,
    ],
    [
      "an entry against the arrows",
      "packages/tasks/src/a.ts",
      `import { a } from "@deltawire/wire/codex";`,
    ],
    [
      "a value of an entry where only types are allowed",
      "packages/store/src/a.ts",
      `import { a } from "@deltawire/wire/codex";`,
    ],
    [
      "an entry that the table does not know",
      "packages/agent/src/a.ts",
      `import { a } from "@deltawire/wire/sse";`,
    ],
    [
      "what lies behind an entry",
      "packages/agent/src/a.ts",
      `import { a } from "@deltawire/wire/codex/parser.ts";`,
    ],
    [
      "an entry of another package",
      "packages/agent/src/a.ts",
      `import { a } from "@deltawire/tasks/codex";`,
    ],
    [
      "a deep import in a script",
      "scripts/a.ts",
      `import { a } from "@deltawire/wire/dist/index.js";`,
    ],
    [
      "a relative path into another package",
      "packages/agent/src/a.ts",
      `import { a } from "../../wire/src/index.ts";`,
    ],
    [
      "a relative path into a package from outside",
      "test/a.test.ts",
      `import { a } from "../packages/wire/src/a.ts";`,
    ],
    ["a star in an index", "packages/wire/src/index.ts", `export * from "./sse/decoder.ts";`],
    [
      "a package that the table does not know",
      "packages/extra/src/a.ts",
      `import { a } from "@deltawire/wire";`,
    ],
  ];
  test.each(cases)("%s", (_what, path, text) => {
    expect(forbiddenImports([{ path, text }])).toHaveLength(1);
  });

  test("nothing in what is allowed", () => {
    const allowed = [
      { path: "packages/wire/src/index.ts", text: `export { a } from "./sse/decoder.ts";` },
      { path: "packages/wire/test/a.test.ts", text: `import { readFileSync } from "node:fs";` },
      { path: "packages/wire/test/b.test.ts", text: `import { a } from "@deltawire/wire";` },
      { path: "packages/store/src/a.ts", text: `import type { A } from "@deltawire/wire";` },
      { path: "packages/gateway/src/a.ts", text: `import { a } from "@deltawire/store";` },
      { path: "packages/agent/src/a.ts", text: `import { a } from "@deltawire/wire/codex";` },
      { path: "packages/wire/test/c.test.ts", text: `import { a } from "@deltawire/wire/codex";` },
      {
        path: "packages/web/browser-test/a.ts",
        text: `import { startGateway } from "deltawire";\nimport { freePort } from "../../../test/free-port.ts";`,
      },
      { path: "examples/a.ts", text: `import { a } from "@deltawire/wire";` },
      { path: "examples/b.ts", text: `import { a } from "@deltawire/wire/codex";` },
    ];
    expect(forbiddenImports(allowed)).toEqual([]);
  });
});

test("the dependency checker finds a library in a pure package and a package against the arrows", () => {
  const manifest = { name: "", version: "", dependencies: { zod: "4.0.0" } };
  expect(forbiddenDependencies("wire", manifest)).toEqual(["wire depends on zod"]);
  const store = {
    name: "",
    version: "",
    dependencies: { "@deltawire/agent": "0.1.0", pg: "8.0.0" },
  };
  expect(forbiddenDependencies("store", store)).toEqual(["store depends on @deltawire/agent"]);
});

describe.each(pureTsconfigs)("%s is pure:", (folder) => {
  const platform = {
    fetch: `fetch("https://example.org");`,
    process: `process.exit();`,
    Buffer: `Buffer.from("");`,
    setTimeout: `setTimeout(() => {}, 1);`,
    TextDecoder: `new TextDecoder();`,
    console: `console.log();`,
    document: `document.title;`,
    "node:fs": `import "node:fs"; readFileSync("");`,
  };

  test("its compiler settings refuse the platform", () => {
    inTemporaryFolder((temporary) => {
      const lines = [...Object.values(platform), `new Map([[1, [3, 1, 2].toSorted()]]);`];
      writeFileSync(join(temporary, "impure.ts"), `${lines.join("\n")}\nexport {};\n`);
      const settings = {
        extends: join(root, "packages", folder, "tsconfig.json"),
        compilerOptions: { composite: false, noEmit: true, rootDir: ".", tsBuildInfoFile: null },
        include: ["impure.ts"],
      };
      writeFileSync(join(temporary, "tsconfig.json"), JSON.stringify(settings));
      const output = tool("tsc", ["-p", "tsconfig.json", "--pretty", "false"], temporary);
      const refused = new Set(
        [...output.matchAll(/^impure\.ts\((\d+),/gm)].map(([, line = ""]) => line),
      );
      expect([...refused], output).toEqual(Object.values(platform).map((_, at) => String(at + 1)));
    });
  });

  test("lint refuses clocks and randomness, which every JavaScript has", () => {
    const source = ["Date.now()", "new Date()", "Math.random()", "crypto.randomUUID()"];
    inTemporaryFolder((temporary) => {
      const src = join(temporary, "packages", folder, "src");
      mkdirSync(src, { recursive: true });
      copyFileSync(join(root, ".oxlintrc.json"), join(temporary, ".oxlintrc.json"));
      const lines = source.map((expression, at) => `export const a${at} = ${expression};`);
      writeFileSync(join(src, "impure.ts"), lines.join("\n"));
      const output = tool("oxlint", ["--format=unix"], temporary);
      const refused = [...output.matchAll(/impure\.ts:(\d+):.*no-restricted/g)].map(
        ([, line]) => line,
      );
      expect(new Set(refused), output).toEqual(new Set(source.map((_, at) => String(at + 1))));
    });
  });
});

/** What the tests and benchmarks of any package may use beside their own. */
const ofAllTests = [
  "bench/machine.ts",
  "bench/measure.ts",
  "bench/processes.ts",
  "bench/report.ts",
  "test/chats/chat-steps.ts",
  "test/chats/office.ts",
  "test/chats/scripted-replies.ts",
  "test/free-port.ts",
  "test/install-clients.ts",
  "test/pinned-clients.ts",
  "test/runs.ts",
  "test/seeded-random.ts",
  "test/shared-data.ts",
  "test/text-costs.ts",
  "test/work-time.ts",
];

function forbiddenImports(files: RepositoryFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const folder = path.startsWith("packages/") ? folderOf(path) : undefined;
    const rule = folder === undefined ? undefined : architecture[folder];
    if (folder !== undefined && !rule) return [`${path}: the table does not know this package`];
    const found = importsOf(text).flatMap(({ from, typesOnly }) => {
      const reason = rule
        ? forbiddenInPackage(path, rule, from, typesOnly)
        : forbiddenOutside(path, from);
      return reason ? [`${path}: ${from}: ${reason}`] : [];
    });
    if (path.endsWith("/index.ts") && /^\s*export\s*\*/m.test(text)) {
      found.push(`${path}: an index lists its names, no export *`);
    }
    return found;
  });
}

function importsPastEntry(files: RepositoryFile[], publicNames: readonly string[]): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/^import (?:type )?\{([^}]*)\} from "[./]+\/src\//gm)]
      .flatMap(([, names = ""]) => names.split(","))
      .map((name) =>
        name
          .trim()
          .replace(/^type /, "")
          .replace(/ as .*/, ""),
      )
      .filter((name) => publicNames.includes(name))
      .map((name) => `${path}: ${name}`),
  );
}

function forbiddenInPackage(path: string, rule: Rule, from: string, typesOnly: boolean) {
  const isSource = path.split("/")[2] === "src";
  if (from.startsWith(".")) {
    const home = path.split("/").slice(0, 2).join("/");
    const target = posix.join(posix.dirname(path), from);
    const isOfTests = !isSource && ofAllTests.includes(target);
    return target.startsWith(`${home}/`) || isOfTests ? undefined : "leaves its package";
  }
  if (isDeep(from)) return "reaches into a package";
  const isOurs = isPackageOfOurs(from);
  if (rule.pure && isSource)
    return rule.libraries?.includes(from) ? undefined : "a pure package imports nothing";
  const owner = packageOf(from);
  if (!isOurs || owner === rule.name || rule.may.includes(owner)) return undefined;
  if (!isSource && rule.testsMay?.includes(owner)) return undefined;
  if (rule.mayUseTypesOf?.includes(owner)) return typesOnly ? undefined : "only types are allowed";
  return "not in the table";
}

function forbiddenOutside(path: string, from: string) {
  if (isDeep(from)) return "reaches into a package";
  const target = from.startsWith(".") ? posix.join(posix.dirname(path), from) : "";
  return target.startsWith("packages/") ? "reaches into a package" : undefined;
}

function forbiddenDependencies(folder: string, manifest: Manifest): string[] {
  const rule = architecture[folder];
  const allowed = [...(rule?.may ?? []), ...(rule?.mayUseTypesOf ?? [])];
  return dependencyFields
    .flatMap((field) => Object.keys(manifest[field] ?? {}))
    .filter((name) =>
      rule?.pure
        ? !rule.libraries?.includes(name)
        : isPackageOfOurs(name) && !allowed.includes(name),
    )
    .map((name) => `${folder} depends on ${name}`);
}

function isPackageOfOurs(from: string): boolean {
  return packageOf(from) === "deltawire" || from.startsWith("@deltawire/");
}

/** Past the index, and by no other entry. */
function isDeep(from: string): boolean {
  const owner = packageOf(from);
  if (!isPackageOfOurs(from) || from === owner) return false;
  const rule = Object.values(architecture).find(({ name }) => name === owner);
  return !(rule?.entries ?? []).some((entry) => from === `${owner}/${entry}`);
}

function packageOf(from: string): string {
  return from
    .split("/")
    .slice(0, from.startsWith("@") ? 2 : 1)
    .join("/");
}

function folderOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function tool(name: string, args: string[], cwd: string): string {
  const launcher = join(root, "scripts", "launch.cjs");
  const ran = spawnSync(process.execPath, [launcher, name, ...args], { cwd, encoding: "utf8" });
  return ran.stdout + ran.stderr;
}

function inTemporaryFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-architecture-"));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
