import type { Problem } from "../problem.ts";
import { Circuit } from "./circuit.ts";
import type { RequestSource } from "./request-source.ts";

/** Names of models come from clients, so there is a limit; the one that failed first is forgotten first. */
const mostModels = 1_000;

/** What a failure is about: the address, which all models share, or one model. */
export type FailureOf = "address" | "model";

export interface Pause {
  of: FailureOf;
  waitMs: number;
  lastError: Problem | undefined;
  /** False if the last error answers another client's request: it may quote what that client sent. */
  mayShowError: boolean;
}

/** What the last request of a model came to. */
interface ModelResult {
  readonly at: number;
  /** Undefined: a good reply. */
  readonly problem: Problem | undefined;
}

interface ModelHealth {
  readonly circuit: Circuit;
  lastError: Problem | undefined;
  /** The client whose request failed last. */
  client: string;
}

/** How an upstream and each of its models have been doing. */
export class UpstreamHealth {
  readonly #address = new Circuit(true);
  readonly #models = new Map<string, ModelHealth>();
  /** In milliseconds since 1970: the last good reply and the last failure. */
  lastGoodAt: number | undefined;
  lastBadAt: number | undefined;
  /** Of any model. */
  lastError: Problem | undefined;
  /** By model, the one that was asked last at the end. */
  readonly #results = new Map<string, ModelResult>();
  #lastAddressError: Problem | undefined;

  /** Why this request may not go now. */
  pause(model: string, source: RequestSource, now: number): Pause | undefined {
    const ofAddress = this.#address.waitMs(source, now);
    if (ofAddress !== undefined)
      return {
        of: "address",
        waitMs: ofAddress,
        lastError: this.#lastAddressError,
        mayShowError: true,
      };
    const known = this.#models.get(model);
    const waitMs = known?.circuit.waitMs(source, now);
    if (known === undefined || waitMs === undefined) return undefined;
    const { lastError, client } = known;
    return { of: "model", waitMs, lastError, mayShowError: client === source.client };
  }

  begin(model: string, source: RequestSource, now: number): void {
    this.#address.begin(source, now);
    this.#models.get(model)?.circuit.begin(source, now);
  }

  answering(model: string, source: RequestSource): void {
    this.#address.succeeded();
    this.#models.get(model)?.circuit.answering(source);
  }

  succeeded(model: string, now: number): void {
    this.lastGoodAt = now;
    this.#address.succeeded();
    this.#models.delete(model);
    this.#note(model, undefined, now);
  }

  /** It answered, but with a refusal: it works, and nothing was served. */
  refused(model: string, problem: Problem | undefined, now: number): void {
    this.#address.succeeded();
    this.#models.delete(model);
    if (problem === undefined || !concernsUpstream(problem)) return;
    this.#note(model, problem, now);
    if (!isKeyProblem(problem)) return;
    this.lastBadAt = now;
    this.lastError = problem;
  }

  /** A reply failed after its beginning. That pauses nothing. */
  broke(model: string, problem: Problem, now: number): void {
    this.lastBadAt = now;
    this.lastError = problem;
    this.#note(model, problem, now);
  }

  failed(
    { of, model, error }: { of: FailureOf; model: string; error: Problem | undefined },
    source: RequestSource,
    now: number,
  ): void {
    this.lastBadAt = now;
    if (error !== undefined) {
      this.lastError = error;
      // An address that fails is no difference between models.
      this.#note(of === "address" ? "" : model, error, now);
    }
    if (of === "address") {
      this.#lastAddressError = error ?? this.#lastAddressError;
      this.#address.failed(source, now);
      this.#models.get(model)?.circuit.undecided(source, now);
      return;
    }
    this.#address.succeeded();
    const { client } = source;
    const known = this.#models.get(model) ?? {
      circuit: new Circuit(),
      lastError: undefined,
      client,
    };
    known.circuit.failed(source, now);
    if (error !== undefined) Object.assign(known, { lastError: error, client });
    this.#models.set(model, known);
    const [oldest] = this.#models.keys();
    if (this.#models.size > mostModels && oldest !== undefined) this.#models.delete(oldest);
  }

  undecided(model: string, source: RequestSource, now: number): void {
    this.#address.undecided(source, now);
    this.#models.get(model)?.circuit.undecided(source, now);
  }

  /** Of the address. */
  get state(): Circuit["state"] {
    return this.#address.state;
  }

  /** Why the key was rejected, if that is what the last request of all came to. */
  get keyProblem(): Problem | undefined {
    const last = [...this.#results.values()].at(-1)?.problem;
    return last !== undefined && isKeyProblem(last) ? last : undefined;
  }

  /** Models whose last request failed. */
  failingModels(): { model: string; problem: Problem; at: number }[] {
    return [...this.#results].flatMap(([model, { problem, at }]) =>
      problem === undefined || model === "" ? [] : [{ model, problem, at }],
    );
  }

  #note(model: string, problem: Problem | undefined, at: number): void {
    this.#results.delete(model);
    this.#results.set(model, { at, problem });
    const [oldest] = this.#results.keys();
    if (this.#results.size > mostModels && oldest !== undefined) this.#results.delete(oldest);
  }

  pausedModels(now: number): { model: string; lastError: Problem | undefined }[] {
    return [...this.#models]
      .filter(([, { circuit }]) => circuit.isPausing(now))
      .map(([model, { lastError }]) => ({ model, lastError }));
  }
}

function isKeyProblem({ status }: Problem): boolean {
  return status === 401 || status === 403;
}

/** A refusal that says something of the key or the model, and not of one request. */
function concernsUpstream(problem: Problem): boolean {
  const { status, code } = problem;
  return isKeyProblem(problem) || status === 404 || code === "insufficient_quota";
}
