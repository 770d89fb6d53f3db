import { existsSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { upstreamToml } from "../test/test-gateway.ts";
import { startQuietGateway } from "./quiet-gateway.ts";

/** The result of a case of the catalog, for one upstream API or one client API (`way`). */
export interface CatalogRow {
  id: string;
  way: string;
  optional: boolean;
  ok: boolean;
  fails: string[];
}

/** The programs of a catalog of the Messages API. */
interface CatalogRunner {
  run(options: object): Promise<CatalogRow[]>;
  requestCases(folder: string): object[];
  legacyCases(file: string): object[];
}

interface CatalogUpstream {
  createUpstream: () => Server;
}

export interface MessagesCatalogOptions {
  /** Contains `quirks.json`, `run.mjs`, `upstream.mjs` and perhaps a folder `requests` of recorded requests. */
  folder: string;
  /** A catalog of Chat streams, which a Messages client reads. Undefined: none. */
  chatCatalog?: string;
  /** True to include the cases that wait for pings: about half a minute. */
  isSlow?: boolean;
}

export function hasMessagesCatalog(folder: string): boolean {
  return ["quirks.json", "run.mjs", "upstream.mjs"].every((name) => existsSync(join(folder, name)));
}

/**
 * Plays the catalog through a gateway with the catalog's own runner, which judges what clients and upstreams receive: clients of
 * the Messages API on Chat, Responses and Messages upstreams, and clients of all APIs on a Messages upstream.
 */
export async function runMessagesCatalog({
  folder,
  chatCatalog,
  isSlow = false,
}: MessagesCatalogOptions): Promise<CatalogRow[]> {
  const load = (name: string): Promise<unknown> => import(pathToFileURL(join(folder, name)).href);
  const runner = (await load("run.mjs")) as CatalogRunner;
  const { createUpstream } = (await load("upstream.mjs")) as CatalogUpstream;
  const { cases } = JSON.parse(readFileSync(join(folder, "quirks.json"), "utf8")) as {
    cases: object[];
  };
  const requests = join(folder, "requests");
  const upstream = createUpstream();
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const base = `${origin}/v1`;
  const gateway = await startQuietGateway(
    [
      "[store]\nenabled = false\n",
      upstreamToml("up", base),
      upstreamToml("upresp", base, { speaks: "responses" }),
      upstreamToml("upmsg", base, { speaks: "messages", api_key: "key-of-upmsg-0123456789" }),
    ].join(""),
  );
  try {
    return await runner.run({
      base: `${gateway.url}/v1`,
      key: "any",
      upstream: origin,
      prefix: "up/",
      respPrefix: "upresp/",
      msgPrefix: "upmsg/",
      pass: true,
      slow: isSlow,
      cases: [
        ...cases,
        ...(existsSync(requests) ? runner.requestCases(requests) : []),
        ...(chatCatalog === undefined ? [] : runner.legacyCases(chatCatalog)),
      ],
    });
  } finally {
    await gateway.close();
    upstream.close();
  }
}
