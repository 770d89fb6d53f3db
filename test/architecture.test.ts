import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { parseImports } from "./parse-imports.ts";
import { parseExportedNames } from "./parse-exports.ts";
import {
  readRepositoryJson,
  type RepositoryFile,
  repositoryFiles,
  root,
} from "./repository-files.ts";

/**
 * The imports that a package may use. `entries`: the exports of the package besides its index. `testsMayImport`: packages
 * that only its tests and benchmarks may import.
 */
type Rule = {
  name: string;
  mayImport: string[];
  testsMayImport?: string[];
  mayImportTypesOf?: string[];
  pure?: true;
  /** Pure libraries that pure packages may import. */
  libraries?: string[];
  entries?: string[];
};
type Manifest = { name: string; version: string; exports?: object } & Partial<
  Record<DependencyField, object>
>;
type DependencyField = (typeof dependencyFields)[number];

const dependencyFields = ["dependencies", "peerDependencies", "optionalDependencies"] as const;

/** The allowed imports of each package. The keys are folders in packages/. */
const architecture: Record<string, Rule> = {
  wire: { name: "@deltawire/wire", mayImport: [], pure: true, entries: ["codex"] },
  tasks: {
    name: "@deltawire/tasks",
    mayImport: [],
    pure: true,
    libraries: ["valibot"],
    entries: ["chats", "markdown"],
  },
  agent: {
    name: "@deltawire/agent",
    mayImport: ["@deltawire/wire", "@deltawire/tasks"],
    // Chats are tested with the real store.
    testsMayImport: ["@deltawire/store"],
    entries: ["basics"],
  },
  store: {
    name: "@deltawire/store",
    mayImport: ["@deltawire/tasks"],
    mayImportTypesOf: ["@deltawire/wire"],
    entries: ["contract"],
  },
  demo: {
    name: "@deltawire/demo",
    mayImport: ["@deltawire/wire", "@deltawire/tasks", "@deltawire/agent"],
  },
  gateway: {
    name: "deltawire",
    mayImport: [
      "@deltawire/wire",
      "@deltawire/tasks",
      "@deltawire/agent",
      "@deltawire/store",
      "@deltawire/demo",
    ],
  },
  web: {
    name: "@deltawire/web",
    mayImport: ["@deltawire/tasks"],
    // Browser tests start a gateway.
    testsMayImport: ["deltawire", "@deltawire/agent", "@deltawire/demo"],
  },
};

const packages = [
  ...new Set(repositoryFiles(/^packages\//, "packages").map(({ path }) => getFolder(path))),
];
const pureTsconfigs = packages.filter((folder) => architecture[folder]?.pure);

describe("the repository", () => {
  test("imports only what the table allows", () => {
    expect(findForbiddenImports(repositoryFiles(/\.[cm]?tsx?$/))).toEqual([]);
  });

  test("has only the packages of the table, with these names and one version", () => {
    const { version } = readRepositoryJson<Manifest>("package.json");
    for (const folder of packages) {
      const manifest = readRepositoryJson<Manifest>(`packages/${folder}/package.json`);
      expect(manifest).toMatchObject({ name: architecture[folder]?.name, version });
    }
  });

  test("exports only the entries of the table", () => {
    for (const folder of packages) {
      const { exports = {} } = readRepositoryJson<Manifest>(`packages/${folder}/package.json`);
      const entries = architecture[folder]?.entries ?? [];
      expect(Object.keys(exports)).toEqual([".", ...entries.map((entry) => `./${entry}`)]);
    }
  });

  test("declares only the dependencies that the table allows", () => {
    for (const folder of packages) {
      const manifest = readRepositoryJson<Manifest>(`packages/${folder}/package.json`);
      expect(findForbiddenDependencies(folder, manifest)).toEqual([]);
    }
  });
});

test("tests of the agent import public names through its public entry", () => {
  const publicNames = parseExportedNames(
    readFileSync(join(root, "packages/agent/src/index.ts"), "utf8"),
  );
  const tests = repositoryFiles(/\.ts$/, "packages/agent/test");
  expect(findDeepImports(tests, publicNames)).toEqual([]);
  const text = `import { a, type B } from "../src/a.ts";\nimport { c } from "@deltawire/agent";`;
  expect(findDeepImports([{ path: "a.test.ts", text }], ["B", "c"])).toEqual(["a.test.ts: B"]);
});

describe("the import checker finds", () => {
  const forbiddenImports: [description: string, path: string, text: string][] = [
    [
      "an import in the wrong direction",
      "packages/wire/src/a.ts",
      `import { a } from "@deltawire/tasks";`,
    ],
    [
      "an import of types in the wrong direction",
      "packages/web/src/a.ts",
      `import type { A } from "@deltawire/wire";`,
    ],
    [
      "a value import where only types are allowed",
      "packages/store/src/a.ts",
      `import { type A } from "@deltawire/wire";`,
    ],
    ["a dynamic import", "packages/tasks/src/a.ts", `const a = await import("@deltawire/wire");`],
    ["a side-effect import", "packages/tasks/src/a.ts", `import "@deltawire/wire";`],
    ["a re-export", "packages/tasks/src/a.ts", `export {\n  a,\n  b,\n} from "@deltawire/wire";`],
    [
      "an import of Node in a pure package",
      "packages/wire/src/a.ts",
      `import { readFileSync } from "node:fs";`,
    ],
    [
      "an import of a library in a pure package",
      "packages/wire/src/a.ts",
      `import { z } from "zod";`,
    ],
    [
      "an import of a library that is not allowed in a pure package",
      "packages/tasks/src/a.ts",
      `import { z } from "zod";`,
    ],
    [
      "a test helper in a source file",
      "packages/wire/src/a.ts",
      `import { workTime } from "../../../test/work-time.ts";`,
    ],
    [
      "an import in a source file that is only allowed in tests",
      "packages/web/src/a.ts",
      `import { startGateway } from "deltawire";`,
    ],
    [
      "a deep import",
      "packages/agent/src/a.ts",
      `import { a } from "@deltawire/wire/src/sse/decoder.ts";`,
    ],
    [
      "an import of an entry in the wrong direction",
      "packages/tasks/src/a.ts",
      `import { a } from "@deltawire/wire/codex";`,
    ],
    [
      "a value import of an entry where only types are allowed",
      "packages/store/src/a.ts",
      `import { a } from "@deltawire/wire/codex";`,
    ],
    [
      "an entry that is not in the table",
      "packages/agent/src/a.ts",
      `import { a } from "@deltawire/wire/sse";`,
    ],
    [
      "an internal file of an entry",
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
    [
      "a star export in an index",
      "packages/wire/src/index.ts",
      `export * from "./sse/decoder.ts";`,
    ],
    [
      "a package that is not in the table",
      "packages/extra/src/a.ts",
      `import { a } from "@deltawire/wire";`,
    ],
  ];
  test.each(forbiddenImports)("%s", (_description, path, text) => {
    expect(findForbiddenImports([{ path, text }])).toHaveLength(1);
  });

  test("nothing in allowed imports", () => {
    const allowedFiles = [
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
    expect(findForbiddenImports(allowedFiles)).toEqual([]);
  });
});

test("the dependency checker finds a library in a pure package, and a dependency in the wrong direction", () => {
  const manifest = { name: "", version: "", dependencies: { zod: "4.0.0" } };
  expect(findForbiddenDependencies("wire", manifest)).toEqual(["wire depends on zod"]);
  const store = {
    name: "",
    version: "",
    dependencies: { "@deltawire/agent": "0.1.0", pg: "8.0.0" },
  };
  expect(findForbiddenDependencies("store", store)).toEqual(["store depends on @deltawire/agent"]);
});

describe.each(pureTsconfigs)("%s is pure:", (folder) => {
  const platformUses = {
    fetch: `fetch("https://example.org");`,
    process: `process.exit();`,
    Buffer: `Buffer.from("");`,
    setTimeout: `setTimeout(() => {}, 1);`,
    TextDecoder: `new TextDecoder();`,
    console: `console.log();`,
    document: `document.title;`,
    "node:fs": `import "node:fs"; readFileSync("");`,
  };

  test("its compiler settings exclude the types of platforms", () => {
    withTemporaryFolder((temporary) => {
      const lines = [...Object.values(platformUses), `new Map([[1, [3, 1, 2].toSorted()]]);`];
      writeFileSync(join(temporary, "impure.ts"), `${lines.join("\n")}\nexport {};\n`);
      const settings = {
        extends: join(root, "packages", folder, "tsconfig.json"),
        compilerOptions: { composite: false, noEmit: true, rootDir: ".", tsBuildInfoFile: null },
        include: ["impure.ts"],
      };
      writeFileSync(join(temporary, "tsconfig.json"), JSON.stringify(settings));
      const output = runTool("tsc", ["-p", "tsconfig.json", "--pretty", "false"], temporary);
      const rejectedLines = new Set(
        [...output.matchAll(/^impure\.ts\((\d+),/gm)].map(([, line = ""]) => line),
      );
      expect([...rejectedLines], output).toEqual(
        Object.values(platformUses).map((_, index) => String(index + 1)),
      );
    });
  });

  test("oxlint rejects clocks and randomness", () => {
    const expressions = ["Date.now()", "new Date()", "Math.random()", "crypto.randomUUID()"];
    withTemporaryFolder((temporary) => {
      const src = join(temporary, "packages", folder, "src");
      mkdirSync(src, { recursive: true });
      copyFileSync(join(root, ".oxlintrc.json"), join(temporary, ".oxlintrc.json"));
      const lines = expressions.map(
        (expression, index) => `export const a${index} = ${expression};`,
      );
      writeFileSync(join(src, "impure.ts"), lines.join("\n"));
      const output = runTool("oxlint", ["--format=unix"], temporary);
      const rejectedLines = [...output.matchAll(/impure\.ts:(\d+):.*no-restricted/g)].map(
        ([, line]) => line,
      );
      expect(new Set(rejectedLines), output).toEqual(
        new Set(expressions.map((_, index) => String(index + 1))),
      );
    });
  });
});

/** Libraries that all tests, checks and benchmarks may use, because several packages need the same servers, files, figures or rules. */
const sharedTestImports = [
  "bench/machine.ts",
  "bench/measure.ts",
  "bench/processes.ts",
  "bench/report.ts",
  "packages/wire/check/chat-sequence.ts",
  "packages/wire/check/message-rules.ts",
  "packages/wire/check/message-sequence.ts",
  "packages/wire/check/passthrough-sequence.ts",
  "packages/wire/check/response-sequence.ts",
  "packages/wire/check/responses-rules.ts",
  "packages/wire/check/upstream-rules.ts",
  "test/cluster/cluster.ts",
  "test/cluster/cluster-follower.ts",
  "test/cluster/cluster-process.ts",
  "test/cluster/ledger.ts",
  "test/cluster/missing-events.ts",
  "test/cluster/print-logs.ts",
  "test/cluster/tcp-proxy.ts",
  "test/cluster/wait-until.ts",
  "test/chats/chat-helpers.ts",
  "test/chats/office-tools.ts",
  "test/chats/scripted-models.ts",
  "test/free-port.ts",
  "test/install-clients.ts",
  "test/pinned-clients.ts",
  "test/postgres-server.ts",
  "test/property-runs.ts",
  "test/redis-server.ts",
  "test/repository-files.ts",
  "test/seeded-random.ts",
  "test/shared-data.ts",
  "test/linear-time.ts",
  "test/cpu-time.ts",
];

function findForbiddenImports(files: RepositoryFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const folder = path.startsWith("packages/") ? getFolder(path) : undefined;
    const rule = folder === undefined ? undefined : architecture[folder];
    if (folder !== undefined && !rule) return [`${path}: the package is not in the table`];
    const problems = parseImports(text).flatMap(({ specifier, isTypeOnly }) => {
      const reason = rule
        ? explainInPackage(path, rule, specifier, isTypeOnly)
        : explainOutside(path, specifier);
      return reason ? [`${path}: ${specifier}: ${reason}`] : [];
    });
    if (path.endsWith("/index.ts") && /^\s*export\s*\*/m.test(text)) {
      problems.push(`${path}: an index must not use export *`);
    }
    return problems;
  });
}

function findDeepImports(files: RepositoryFile[], publicNames: readonly string[]): string[] {
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

function explainInPackage(path: string, rule: Rule, specifier: string, isTypeOnly: boolean) {
  const isSource = path.split("/")[2] === "src";
  if (specifier.startsWith(".")) {
    const packagePath = path.split("/").slice(0, 2).join("/");
    const target = posix.join(posix.dirname(path), specifier);
    const isTestHelper = !isSource && sharedTestImports.includes(target);
    return target.startsWith(`${packagePath}/`) || isTestHelper
      ? undefined
      : "a relative path leads outside of the package";
  }
  if (isDeep(specifier)) return "imports an internal file of a package";
  const isOwn = isOwnPackage(specifier);
  if (rule.pure && isSource)
    return rule.libraries?.includes(specifier) ? undefined : "a pure package must not import this";
  const owner = getPackageName(specifier);
  if (!isOwn || owner === rule.name || rule.mayImport.includes(owner)) return undefined;
  if (!isSource && rule.testsMayImport?.includes(owner)) return undefined;
  if (rule.mayImportTypesOf?.includes(owner))
    return isTypeOnly ? undefined : "only types are allowed";
  return "not in the table";
}

function explainOutside(path: string, specifier: string) {
  if (isDeep(specifier)) return "imports an internal file of a package";
  const target = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : "";
  return target.startsWith("packages/") ? "imports an internal file of a package" : undefined;
}

function findForbiddenDependencies(folder: string, manifest: Manifest): string[] {
  const rule = architecture[folder];
  const allowedPackages = [...(rule?.mayImport ?? []), ...(rule?.mayImportTypesOf ?? [])];
  return dependencyFields
    .flatMap((field) => Object.keys(manifest[field] ?? {}))
    .filter((name) =>
      rule?.pure
        ? !rule.libraries?.includes(name)
        : isOwnPackage(name) && !allowedPackages.includes(name),
    )
    .map((name) => `${folder} depends on ${name}`);
}

function isOwnPackage(specifier: string): boolean {
  return getPackageName(specifier) === "deltawire" || specifier.startsWith("@deltawire/");
}

/** True for imports of internal files of another package. */
function isDeep(specifier: string): boolean {
  const owner = getPackageName(specifier);
  if (!isOwnPackage(specifier) || specifier === owner) return false;
  const rule = Object.values(architecture).find(({ name }) => name === owner);
  return !(rule?.entries ?? []).some((entry) => specifier === `${owner}/${entry}`);
}

function getPackageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function getFolder(path: string): string {
  return path.split("/")[1] ?? "";
}

function runTool(name: string, args: string[], cwd: string): string {
  const launcher = join(root, "scripts", "launch.cjs");
  const result = spawnSync(process.execPath, [launcher, name, ...args], { cwd, encoding: "utf8" });
  return result.stdout + result.stderr;
}

function withTemporaryFolder(action: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-architecture-"));
  try {
    action(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
