// The workers of graphile-worker. Arguments: the folder of its package, the database, and
// "migrate" to make its tables and end. It writes the number of each job that it worked.
const [, , folder, connectionString, migrate] = process.argv;
const { run, runMigrations, Logger } = require(folder);
const logger = new Logger(() => () => {});

async function main() {
	if (migrate) return runMigrations({ connectionString, logger });
	await run({
		connectionString, logger, concurrency: 24, maxPoolSize: 25,
		taskList: { notify: async (job) => { process.stdout.write(job.job + "\n"); } },
	});
	process.stdout.write("-1\n");
}
main().catch((err) => { console.error(err); process.exit(1); });
