create table t(a integer primary key,b text,c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<300000) insert into t select i, 'x'||(i*7919%300000), i*1.5 from n;
create index ti on t(b);
select count(*),sum(c) from t where b like '%99%';
select a%10,avg(c),max(b) from t group by 1 order by 2;
