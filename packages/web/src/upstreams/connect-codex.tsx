import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Field, Select } from "../ui/field.tsx";
import { Collapsible } from "../ui/indicators.tsx";
import { useCopyButton } from "../ui/use-copy-button.ts";
import { useMessages } from "../messages/use-messages.ts";
import type { CodexMigration, CodexStatus } from "./gateway-status.ts";
import { upstreamMessages, type UpstreamMessages } from "./messages.ts";

interface ConnectCodexProps {
  codex: CodexStatus;
  onModelChange: (model: string) => void;
}

/** Shows how to run Codex on this gateway, and what `migrate` would change in its configuration. */
export function ConnectCodex({ codex, onModelChange }: ConnectCodexProps) {
  const t = useMessages(upstreamMessages);
  const choices = useCell(useAppStore().choices);
  const { model, block } = codex;
  const names = (choices?.models ?? [])
    .filter(({ type }) => type === "chat")
    .map(({ name }) => name);
  const modelNames = names.includes(model) ? names : [model, ...names];
  return (
    <section className="upstreams-card" aria-label={t.codex}>
      <header>
        <h2>{t.codex}</h2>
      </header>
      <Field label={t.model}>
        <Select value={model} onChange={(event) => onModelChange(event.currentTarget.value)}>
          {modelNames.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      </Field>
      <p>{t.codexRun}</p>
      <CopyableCode label={t.codexRun} text={codex.command} messages={t} />
      <p>{t.codexPaste}</p>
      <CopyableCode label={t.codexPaste} text={block} messages={t} />
      {codex.token_required && <p className="upstreams-muted">{t.codexToken}</p>}
      <MigrationPreview migration={codex.migration} messages={t} />
    </section>
  );
}

function MigrationPreview({
  migration,
  messages: t,
}: {
  migration: CodexMigration;
  messages: UpstreamMessages;
}) {
  return (
    <Collapsible summary={t.migration} open={migration.status === "possible" ? true : undefined}>
      <div className="upstreams-migration">
        {migration.status === "unknown" && <p>{t.migrationUnknown}</p>}
        {migration.status === "not_needed" && <p>{t.migrationNotNeeded(migration.file)}</p>}
        {migration.status === "impossible" && <p>{t.migrationImpossible(migration.reason)}</p>}
        {migration.status === "possible" && (
          <>
            <p>{t.migrationIntro}</p>
            {migration.changes.map(({ file, diff }) => (
              <FileDiff key={file} file={file} diff={diff} />
            ))}
            {migration.unset.length > 0 && <p>{t.setVariables(migration.unset.join(", "))}</p>}
            <p>{t.migrationRun}</p>
            <CopyableCode label={t.migrationRun} text="npm start -- migrate --write" messages={t} />
          </>
        )}
        {"notes" in migration && migration.notes.length > 0 && (
          <ul>
            {migration.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
      </div>
    </Collapsible>
  );
}

function FileDiff({ file, diff }: { file: string; diff: string }) {
  const lines = diff.trimEnd().split("\n");
  return (
    // A scrollable element must be focusable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className="upstreams-code" role="group" aria-label={file} tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} data-sign={/^[+-](?![+-]{2} )/.exec(line)?.[0]}>
          {line}
        </span>
      ))}
    </pre>
  );
}

function CopyableCode({
  label,
  text,
  messages: t,
}: {
  label: string;
  text: string;
  messages: UpstreamMessages;
}) {
  const { state, copy } = useCopyButton(() => text);
  return (
    <div className="upstreams-copy">
      {/* A scrollable element must be focusable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="upstreams-code" role="group" aria-label={label} tabIndex={0}>
        {text}
      </pre>
      <Button
        small
        icon={state === "copied" ? "check" : "copy"}
        aria-label={`${t[state]}: ${label}`}
        onClick={copy}
      >
        {t[state]}
      </Button>
      <span className="visually-hidden" role="status">
        {state === "copy" ? "" : t[state]}
      </span>
    </div>
  );
}
