import { afterEach } from "vitest";
import {
  leaksOf,
  runningGateway,
  upstreamToml,
  type StartOptions,
  type TestGateway,
} from "./running-gateway.ts";
import { scriptedUpstream, type Script, type ScriptedUpstream } from "./scripted-upstream.ts";

const open: { close(): Promise<void> }[] = [];
const upstreams: ScriptedUpstream[] = [];
const gateways: TestGateway[] = [];

afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
  // Whatever a test is about: nothing secret was logged in it, and no client's bearer went to an upstream.
  const asked = upstreams.splice(0).flatMap(({ requests }) => requests);
  const leaks = gateways.splice(0).flatMap((gateway) => leaksOf(gateway, asked));
  if (leaks.length > 0) throw new Error(`a secret is where it should not be:\n${leaks.join("\n")}`);
});

export interface Scene {
  upstream: ScriptedUpstream;
  gateway: TestGateway;
}

/** A gateway in front of one upstream, `up`, that does what the script says. Both are closed after the test. */
export async function scene(
  script: Script,
  {
    upstream: settings = {},
    toml = "",
    hold,
    ...options
  }: {
    upstream?: Record<string, string | number | string[]>;
    toml?: string;
    hold?: Promise<void>;
  } & StartOptions = {},
): Promise<Scene> {
  const upstream = await anUpstream(script, hold === undefined ? {} : { hold });
  const up = upstreamToml("up", upstream.url, { api_key: "key-of-up-0123456789", ...settings });
  const gateway = await aGateway(`${toml}\n${up}`, options);
  return { upstream, gateway };
}

export async function anUpstream(
  ...args: Parameters<typeof scriptedUpstream>
): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(...args);
  open.push(upstream);
  upstreams.push(upstream);
  return upstream;
}

export async function aGateway(...args: Parameters<typeof runningGateway>): Promise<TestGateway> {
  const gateway = await runningGateway(...args);
  open.push(gateway);
  gateways.push(gateway);
  return gateway;
}

export const hello = { model: "up/m", stream: true, input: "Hello" };
export const helloChat = {
  model: "up/m",
  stream: true,
  messages: [{ role: "user", content: "Hello" }],
};

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until something is so; fails after thirty seconds, or after `longestMs`. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  longestMs = 30_000,
): Promise<void> {
  const end = Date.now() + longestMs;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`never came: ${what}`);
    await pause(2);
  }
}

/**
 * What a count comes to: it is the same at ten looks in a row. One long wait would not do, for a process that is held up
 * for all of it counts nothing either.
 */
export async function standing(count: () => number): Promise<number> {
  let last = count();
  for (let same = 0; same < 10; same += 1) {
    await pause(50);
    if (count() === last) continue;
    last = count();
    same = -1;
  }
  return last;
}
