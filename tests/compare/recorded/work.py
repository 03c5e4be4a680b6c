import json,re,random
random.seed(3)
d={str(i):[random.random() for _ in range(5)] for i in range(400)}
for _ in range(70):
    t=json.dumps(d); json.loads(t)
    re.findall(r'"(\d+)": \[([^\]]*)\]',t)
    sorted((str(v) for v in d.values()))
    {k:hash(str(v)) for k,v in d.items()}
