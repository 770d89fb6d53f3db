import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Field, Select } from "../ui/field.tsx";
import { Collapsible } from "../ui/indicators.tsx";
import { useCopyButton } from "../ui/use-copy-button.ts";
import { useMessages } from "../messages/use-messages.ts";
import type {
  AgentConnection,
  CodexMigration,
  ConnectionChoice,
  FileDiff,
  SettingsPreview,
} from "./gateway-status.ts";
import { upstreamMessages, type UpstreamMessages } from "./messages.ts";

interface ConnectAgentProps {
  connection: AgentConnection;
  onChoose: (change: Partial<ConnectionChoice>) => void;
}

/** Shows how to run a coding agent on this gateway, and what `connect` and `migrate` would change in its settings. */
export function ConnectAgent({ connection, onChoose }: ConnectAgentProps) {
  const t = useMessages(upstreamMessages);
  const choices = useCell(useAppStore().choices);
  const { agent, agents, model, files, migration } = connection;
  const names = (choices?.models ?? [])
    .filter(({ type }) => type === "chat")
    .map(({ name }) => name);
  const modelNames = names.includes(model) ? names : [model, ...names];
  return (
    <section className="upstreams-card" aria-label={t.connect}>
      <header>
        <h2>{t.connect}</h2>
      </header>
      <div className="upstreams-choices">
        <Field label={t.agent}>
          <Select
            value={agent}
            onChange={(event) => onChoose({ agent: event.currentTarget.value })}
          >
            {agents.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        </Field>
        <Field label={t.model}>
          <Select
            value={model}
            onChange={(event) => onChoose({ model: event.currentTarget.value })}
          >
            {modelNames.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        </Field>
      </div>
      <p>{t.runOnce}</p>
      <CopyableCode label={t.runOnce} text={connection.command} messages={t} />
      {files.map(({ file, text }) => (
        <div key={file} className="upstreams-file">
          <p>{t.addToFile(file)}</p>
          <CopyableCode label={t.addToFile(file)} text={text} messages={t} />
        </div>
      ))}
      {connection.token_required && <p className="upstreams-muted">{t.replaceToken}</p>}
      <SettingsPreviewDetails
        key={agent}
        settings={connection.settings}
        command={connection.connect_command}
        messages={t}
      />
      {migration !== undefined && <MigrationPreview migration={migration} messages={t} />}
    </section>
  );
}

function SettingsPreviewDetails({
  settings,
  command,
  messages: t,
}: {
  settings: SettingsPreview;
  command: string;
  messages: UpstreamMessages;
}) {
  if (settings.status === "unknown") return null;
  return (
    <Collapsible summary={t.settings}>
      <div className="upstreams-migration">
        {settings.status === "not_needed" && <p>{t.settingsNotNeeded}</p>}
        {settings.status === "impossible" && <p>{t.settingsImpossible(settings.reason)}</p>}
        {settings.status === "possible" && (
          <>
            <p>{t.settingsIntro}</p>
            <FileDiffs diffs={settings.changes} />
            <Notes notes={settings.notes} />
            <p>{t.applyRun}</p>
            <CopyableCode label={t.applyRun} text={command} messages={t} />
          </>
        )}
      </div>
    </Collapsible>
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
            <FileDiffs diffs={migration.changes} />
            {migration.unset.length > 0 && <p>{t.setVariables(migration.unset.join(", "))}</p>}
            <p>{t.migrationRun}</p>
            <CopyableCode label={t.migrationRun} text="npm start -- migrate --write" messages={t} />
          </>
        )}
        {"notes" in migration && <Notes notes={migration.notes} />}
      </div>
    </Collapsible>
  );
}

function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul>
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function FileDiffs({ diffs }: { diffs: readonly FileDiff[] }) {
  return diffs.map(({ file, diff }) => (
    // A scrollable element must be focusable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre key={file} className="upstreams-code" role="group" aria-label={file} tabIndex={0}>
      {diff
        .trimEnd()
        .split("\n")
        .map((line, index) => (
          <span key={index} data-sign={/^[+-](?![+-]{2} )/.exec(line)?.[0]}>
            {line}
          </span>
        ))}
    </pre>
  ));
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
