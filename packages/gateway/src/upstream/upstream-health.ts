import type { GatewayError } from "../gateway-error.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import type { RequestSource } from "./request-source.ts";

/** Clients choose the names of models, so their number is limited. The oldest is dropped first. */
const maxModels = 1_000;

/** What a failure applies to: the address, which all models share, or one model. */
export type FailureScope = "address" | "model";

export interface UpstreamPause {
  scope: FailureScope;
  waitMs: number;
  lastError: GatewayError | undefined;
  /** False if the last error comes from another client's request, which it may quote. */
  mayShowError: boolean;
}

/** The result of the last request to a model. */
interface ModelResult {
  readonly at: number;
  /** Undefined: success. */
  readonly problem: GatewayError | undefined;
}

interface ModelHealth {
  readonly circuit: CircuitBreaker;
  lastError: GatewayError | undefined;
  /** The client whose request failed last. */
  client: string;
}

/** The health of an upstream and of each of its models. */
export class UpstreamHealth {
  readonly #addressCircuit = new CircuitBreaker(true);
  readonly #models = new Map<string, ModelHealth>();
  /** Times of the last success and the last failure, in milliseconds since the epoch. */
  lastSuccessAt: number | undefined;
  lastFailureAt: number | undefined;
  /** The last error of any model. */
  lastError: GatewayError | undefined;
  /** Results by model, the most recent request last. */
  readonly #results = new Map<string, ModelResult>();
  #lastAddressError: GatewayError | undefined;

  /** Returns the pause that applies to this request, if any. */
  findPause(model: string, source: RequestSource, now: number): UpstreamPause | undefined {
    const addressWaitMs = this.#addressCircuit.getWaitMs(source, now);
    if (addressWaitMs !== undefined)
      return {
        scope: "address",
        waitMs: addressWaitMs,
        lastError: this.#lastAddressError,
        mayShowError: true,
      };
    const modelHealth = this.#models.get(model);
    const waitMs = modelHealth?.circuit.getWaitMs(source, now);
    if (modelHealth === undefined || waitMs === undefined) return undefined;
    const { lastError, client } = modelHealth;
    return { scope: "model", waitMs, lastError, mayShowError: client === source.clientName };
  }

  beginRequest(model: string, source: RequestSource, now: number): void {
    this.#addressCircuit.beginRequest(source, now);
    this.#models.get(model)?.circuit.beginRequest(source, now);
  }

  recordFirstByte(model: string, source: RequestSource): void {
    this.#addressCircuit.recordSuccess();
    this.#models.get(model)?.circuit.recordFirstByte(source);
  }

  recordSuccess(model: string, now: number): void {
    this.lastSuccessAt = now;
    this.#addressCircuit.recordSuccess();
    this.#models.delete(model);
    this.#setResult(model, undefined, now);
  }

  /** Must be called after an error response: the upstream works, but rejected the request. */
  recordRejection(model: string, problem: GatewayError | undefined, now: number): void {
    this.#addressCircuit.recordSuccess();
    this.#models.delete(model);
    if (problem === undefined || !concernsUpstream(problem)) return;
    this.#setResult(model, problem, now);
    if (!isKeyError(problem)) return;
    this.lastFailureAt = now;
    this.lastError = problem;
  }

  /** Must be called if a reply failed after its start. Does not cause a pause. */
  recordBrokenReply(model: string, problem: GatewayError, now: number): void {
    this.lastFailureAt = now;
    this.lastError = problem;
    this.#setResult(model, problem, now);
  }

  recordFailure(
    {
      scope,
      model,
      error,
    }: { scope: FailureScope; model: string; error: GatewayError | undefined },
    source: RequestSource,
    now: number,
  ): void {
    this.lastFailureAt = now;
    if (error !== undefined) {
      this.lastError = error;
      // Failures of the address do not depend on the model.
      this.#setResult(scope === "address" ? "" : model, error, now);
    }
    if (scope === "address") {
      this.#lastAddressError = error ?? this.#lastAddressError;
      this.#addressCircuit.recordFailure(source, now);
      this.#models.get(model)?.circuit.recordInconclusive(source, now);
      return;
    }
    this.#addressCircuit.recordSuccess();
    const { clientName } = source;
    const modelHealth = this.#models.get(model) ?? {
      circuit: new CircuitBreaker(),
      lastError: undefined,
      client: clientName,
    };
    modelHealth.circuit.recordFailure(source, now);
    if (error !== undefined) Object.assign(modelHealth, { lastError: error, client: clientName });
    this.#models.set(model, modelHealth);
    const [oldest] = this.#models.keys();
    if (this.#models.size > maxModels && oldest !== undefined) this.#models.delete(oldest);
  }

  recordInconclusive(model: string, source: RequestSource, now: number): void {
    this.#addressCircuit.recordInconclusive(source, now);
    this.#models.get(model)?.circuit.recordInconclusive(source, now);
  }

  /** The state of the circuit breaker for the address. */
  get state(): CircuitBreaker["state"] {
    return this.#addressCircuit.state;
  }

  /** The error of the last request, if the upstream rejected the key. */
  get keyError(): GatewayError | undefined {
    const lastError = [...this.#results.values()].at(-1)?.problem;
    return lastError !== undefined && isKeyError(lastError) ? lastError : undefined;
  }

  /** Returns the models whose last request failed. */
  listFailingModels(): { model: string; problem: GatewayError; at: number }[] {
    return [...this.#results].flatMap(([model, { problem, at }]) =>
      problem === undefined || model === "" ? [] : [{ model, problem, at }],
    );
  }

  #setResult(model: string, problem: GatewayError | undefined, at: number): void {
    this.#results.delete(model);
    this.#results.set(model, { at, problem });
    const [oldest] = this.#results.keys();
    if (this.#results.size > maxModels && oldest !== undefined) this.#results.delete(oldest);
  }

  listPausedModels(now: number): { model: string; lastError: GatewayError | undefined }[] {
    return [...this.#models]
      .filter(([, { circuit }]) => circuit.isPaused(now))
      .map(([model, { lastError }]) => ({ model, lastError }));
  }
}

function isKeyError({ status }: GatewayError): boolean {
  return status === 401 || status === 403;
}

/** True for errors about the key or the model, as opposed to a single request. */
function concernsUpstream(problem: GatewayError): boolean {
  const { status, code } = problem;
  return isKeyError(problem) || status === 404 || code === "insufficient_quota";
}
