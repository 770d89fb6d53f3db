/** Secrets that all processes of a store share. */
export interface SharedSecretStore {
  /** Stores a secret unless one with this name exists, and returns the stored one. */
  getOrCreateSecret(name: string, newValue: string): Promise<string>;
  /** Returns a secret. Undefined if none with this name exists. */
  getSecret(name: string): Promise<string | undefined>;
}
