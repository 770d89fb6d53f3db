/** Ids that Messages clients and servers accept. */
const legalId = /^[A-Za-z0-9_-]+$/;
/** Responses upstreams reject longer ids, and the client sends them back. */
const maxLength = 64;

export interface CallIdsOptions {
  newId: (prefix: string) => string;
  /** Call ids of the history. */
  usedCallIds?: ReadonlySet<string>;
}

/** Gives the calls of a reply ids that a Messages client accepts. */
export class CallIds {
  readonly #options: CallIdsOptions;
  readonly #sentIds = new Set<string>();

  constructor(options: CallIdsOptions) {
    this.#options = options;
  }

  toClientId(id: string): string {
    let clientId = isLegalCallId(id) ? id : id.replaceAll(/[^A-Za-z0-9_-]+/g, "_");
    while (clientId.length > maxLength || this.#isUsed(clientId))
      clientId = this.#options.newId("toolu");
    this.#sentIds.add(clientId);
    return clientId;
  }

  #isUsed(id: string): boolean {
    return this.#sentIds.has(id) || this.#options.usedCallIds?.has(id) === true;
  }
}

function isLegalCallId(id: string): boolean {
  return id.length <= maxLength && legalId.test(id);
}
